package dev.lite.mr;

import dev.lite.mr.job.Slice;
import java.util.List;
import java.util.Map;

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
        pairs = List.copyOf(pairs);
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
}
