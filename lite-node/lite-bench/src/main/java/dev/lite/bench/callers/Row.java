package dev.lite.bench.callers;

import dev.lite.bench.load.Sample;
import dev.lite.bench.load.Workload;
import java.util.List;
import java.util.Optional;

/** A row of the table before it has figures: a contender and a workload. */
record Row(String contender, Workload workload) {
    private static final String OURS = "LITE";

    boolean isOurs() {
        return contender.startsWith(OURS);
    }

    /** Whether this row has several outstanding operations, and the other one the same operations one at a time. */
    boolean isOutstandingFormOf(Row other) {
        return workload.underWay() > 1 && other.equals(new Row(contender, workload.withUnderWay(1)));
    }

    /** A row with the medians of its runs, and the lowest throughput of a run. */
    record Measured(Row row, Sample median, double lowestPerSecond) {
        /** Empty if a run failed: what the others did is not what users see. */
        static Optional<Measured> of(Row row, List<Sample> runs, int wanted) {
            return runs.size() < wanted
                    ? Optional.empty()
                    : Optional.of(new Measured(
                            row,
                            Sample.median(runs),
                            runs.stream().mapToDouble(Sample::perSecond).min().orElseThrow()));
        }
    }
}
