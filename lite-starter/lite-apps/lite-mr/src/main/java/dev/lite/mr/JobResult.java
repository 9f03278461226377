package dev.lite.mr;

import dev.lite.mr.data.KeptRun;
import dev.lite.mr.job.Slice;
import java.util.AbstractList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.RandomAccess;

/**
 * What a job did.
 *
 * @param pairs the result in the order of its keys, with {@link Output#memory}; else empty
 * @param pairCount the number of pairs of the result
 * @param counters those of LITE-MR ({@code records}, {@code pairs}, {@code keys}) and of the job
 * @param again what ran more than once, and why; one text for each task
 */
public record JobResult(List<Pair> pairs, long pairCount, Map<String, Long> counters, List<String> again) {
    /** Copies the collections. */
    public JobResult {
        pairs = pairs instanceof KeptPairs ? pairs : List.copyOf(pairs);
        counters = Map.copyOf(counters);
        again = List.copyOf(again);
    }

    /**
     * One pair of the result.
     *
     * @param key the reader must not change it
     * @param value likewise
     */
    public record Pair(Slice key, Slice value) {}

    /** The pairs of a run as a list, which makes each pair when it is asked for. */
    static List<Pair> pairs(KeptRun run) {
        return new KeptPairs(run);
    }

    private static final class KeptPairs extends AbstractList<Pair> implements RandomAccess {
        private final KeptRun run;

        KeptPairs(KeptRun run) {
            this.run = run;
        }

        @Override
        public int size() {
            return run.count();
        }

        @Override
        public Pair get(int index) {
            Pair pair = new Pair(new Slice(), new Slice());
            run.get(Objects.checkIndex(index, size()), pair.key, pair.value);
            return pair;
        }
    }
}
