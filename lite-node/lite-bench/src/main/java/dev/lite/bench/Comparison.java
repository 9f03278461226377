package dev.lite.bench;

import java.util.Arrays;

/**
 * Compares two implementations by running them alternately, so that other load on the machine affects both, and takes the
 * median of each.
 */
final class Comparison {
    /** Long enough for the JIT compiler to finish both, even if the other core is busy. */
    private static final long WARM_UP_NS = 600_000_000;

    private static final int ROUNDS = 101;
    private static final long ROUND_NS = 3_000_000;
    private static final int N_MAX = 1 << 22;
    /** Much longer than a server keeps polling after its last request, on a processor that the other implementation needs. */
    private static final long SERVED_ROUND_NS = 25_000_000;

    private static final long LONG_ROUND_NS = 300_000_000;
    private static final int LONG_ROUNDS = 15;

    private Comparison() {}

    /** Runs the operation {@code n} times. */
    interface Batch {
        void run(int n);
    }

    /** Nanoseconds per operation. */
    record Result(double oursNs, double rawNs) {}

    static Result measure(Batch ours, Batch raw) {
        return measure(ours, raw, ROUND_NS);
    }

    /** Like {@link #measure}, for implementations with servers that keep polling for a while after their last request. */
    static Result measureServed(Batch ours, Batch raw) {
        return measure(ours, raw, SERVED_ROUND_NS);
    }

    /** Like {@link #measure}, for operations that need time to reach full speed: few long rounds. */
    static Result measureLong(Batch ours, Batch raw) {
        return measure(ours, raw, LONG_ROUND_NS, LONG_ROUNDS);
    }

    private static Result measure(Batch ours, Batch raw, long roundNs) {
        return measure(ours, raw, roundNs, ROUNDS);
    }

    private static Result measure(Batch ours, Batch raw, long roundNs, int rounds) {
        int n = warmUp(ours, raw, roundNs);
        double[] oursNs = new double[rounds];
        double[] rawNs = new double[rounds];
        for (int round = 0; round < rounds; round++) {
            if ((round & 1) == 0) {
                rawNs[round] = time(raw, n);
                oursNs[round] = time(ours, n);
            } else {
                oursNs[round] = time(ours, n);
                rawNs[round] = time(raw, n);
            }
        }
        return new Result(median(oursNs), median(rawNs));
    }

    /** Returns how many operations fill a round. */
    private static int warmUp(Batch ours, Batch raw, long roundNs) {
        long end = System.nanoTime() + WARM_UP_NS + 20 * roundNs;
        int n = 1;
        while (System.nanoTime() < end) {
            double fastest = Math.min(time(raw, n), time(ours, n));
            n = (int) Math.clamp(roundNs / Math.max(1, fastest), 1, N_MAX);
        }
        return n;
    }

    /** Warms an operation up; returns how many of it take about this time. */
    static int count(Batch batch, long totalNs) {
        return warmUp(batch, batch, totalNs);
    }

    /** Nanoseconds per operation in {@code n} operations. */
    static double time(Batch batch, int n) {
        long start = System.nanoTime();
        batch.run(n);
        return (System.nanoTime() - start) / (double) n;
    }

    static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
