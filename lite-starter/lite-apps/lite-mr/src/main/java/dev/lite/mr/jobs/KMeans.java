package dev.lite.mr.jobs;

import dev.lite.mr.Input;
import dev.lite.mr.JobResult;
import dev.lite.mr.JobSpec;
import dev.lite.mr.MapReduce;
import dev.lite.mr.RecordFormat;
import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One step of k-means; records are points of {@code dimensions} 32-bit numbers. Key: the number of the nearest mean, 4 bytes. Value: the
 * number of its points, and their sum in each dimension. {@link #cluster} repeats it.
 */
public final class KMeans extends Job {
    private int[][] means = {};
    private Slice sums = new Slice();
    private final Slice key = Slice.of(new byte[Integer.BYTES]);

    /** For LITE-MR. */
    public KMeans() {}

    @Override
    public void setup(Map<String, String> parameters) {
        means = Arrays.stream(Parameters.required(parameters, "means").split(";"))
                .map(mean -> Arrays.stream(mean.split(","))
                        .mapToInt(Integer::parseInt)
                        .toArray())
                .toArray(int[][]::new);
        sums = Slice.of(new long[1 + means[0].length]);
    }

    @Override
    public void map(InputRecord record, Emitter out) {
        int nearest = 0;
        long leastLow = -1;
        long leastHigh = Long.MAX_VALUE;
        for (int mean = 0; mean < means.length; mean++) {
            // A square has up to 64 bits without a sign, so their sum has more.
            long low = 0;
            long high = 0;
            for (int i = 0; i < means[mean].length; i++) {
                long difference = (long) means[mean][i] - record.getInt(i * Integer.BYTES);
                long square = difference * difference;
                low += square;
                high += Long.compareUnsigned(low, square) < 0 ? 1 : 0;
            }
            if (high < leastHigh || (high == leastHigh && Long.compareUnsigned(low, leastLow) < 0)) {
                leastLow = low;
                leastHigh = high;
                nearest = mean;
            }
        }
        key.putInt(0, nearest);
        sums.putLong(0, 1);
        for (int i = 0; i < means[0].length; i++) {
            sums.putLong((1 + i) * Long.BYTES, record.getInt(i * Integer.BYTES));
        }
        out.emit(key, sums);
    }

    @Override
    public Combiner combiner() {
        return Combiner.SUM;
    }

    /**
     * Moves means until none moves any more: one job for each step. Means are whole numbers, as in the suite, so the result is exact.
     *
     * @param points 32-bit numbers, little-endian
     * @param start the first means; a mean without a point stays where it is
     * @param stepsMax at most so many steps
     * @return the last means
     */
    public static int[][] cluster(MapReduce master, Input points, int[][] start, int stepsMax) {
        int[][] means = Arrays.stream(start).map(int[]::clone).toArray(int[][]::new);
        int dimensions = start[0].length;
        for (int step = 0; step < stepsMax; step++) {
            JobResult result = master.run(JobSpec.of(KMeans.class, points)
                    .withFormat(RecordFormat.fixed(0, dimensions * Integer.BYTES))
                    .withParameter("means", text(means)));
            boolean moved = false;
            for (JobResult.Pair pair : result.pairs()) {
                int[] mean = means[pair.key().getInt(0)];
                for (int i = 0; i < dimensions; i++) {
                    int now = (int) (pair.value().getLong((1 + i) * Long.BYTES)
                            / pair.value().getLong(0));
                    moved |= now != mean[i];
                    mean[i] = now;
                }
            }
            if (!moved) {
                break;
            }
        }
        return means;
    }

    private static String text(int[][] means) {
        return Arrays.stream(means)
                .map(mean -> Arrays.stream(mean).mapToObj(Integer::toString).collect(Collectors.joining(",")))
                .collect(Collectors.joining(";"));
    }
}
