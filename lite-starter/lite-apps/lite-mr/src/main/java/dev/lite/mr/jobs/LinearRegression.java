package dev.lite.mr.jobs;

import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;

/**
 * The sums from which a line through points follows; records are points of two bytes, x and y. One pair. Value: n, Σx, Σy, Σxx, Σyy, Σxy as
 * 64-bit numbers; {@link #line} computes the line.
 */
public final class LinearRegression extends Job {
    private static final int SUMS = 6;

    private final Slice key = Slice.of("sums");
    private final Slice sums = Slice.of(new long[SUMS]);

    /** For LITE-MR. */
    public LinearRegression() {}

    @Override
    public void map(InputRecord record, Emitter out) {
        long x = record.byteAt(0);
        long y = record.byteAt(1);
        sums.putLong(0, 1);
        sums.putLong(Long.BYTES, x);
        sums.putLong(2 * Long.BYTES, y);
        sums.putLong(3 * Long.BYTES, x * x);
        sums.putLong(4 * Long.BYTES, y * y);
        sums.putLong(5 * Long.BYTES, x * y);
        out.emit(key, sums);
    }

    @Override
    public Combiner combiner() {
        return Combiner.SUM;
    }

    /**
     * The line y = slope · x + intercept.
     *
     * @param sums the value of the result
     */
    public static Line line(Slice sums) {
        double n = sums.getLong(0);
        double x = sums.getLong(Long.BYTES);
        double y = sums.getLong(2 * Long.BYTES);
        double xx = sums.getLong(3 * Long.BYTES);
        double xy = sums.getLong(5 * Long.BYTES);
        double slope = (n * xy - x * y) / (n * xx - x * x);
        return new Line(slope, (y - slope * x) / n);
    }

    /**
     * A line.
     *
     * @param slope the change of y for one of x
     * @param intercept y at x = 0
     */
    public record Line(double slope, double intercept) {}

    @Override
    public void format(Slice key, Slice value, StringBuilder line) {
        line.append(line(value));
    }
}
