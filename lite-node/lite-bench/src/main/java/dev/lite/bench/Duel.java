package dev.lite.bench;

import java.util.Arrays;

/**
 * Measures two ways to do the same thing in turns, so that what else the machine does hits both, and takes the median of
 * each.
 */
final class Duel {
    private static final int WARM_UP_ROUNDS = 8;
    private static final int ROUNDS = 41;
    private static final long ROUND_NS = 4_000_000;

    private Duel() {}

    /** Does the thing {@code n} times. */
    interface Batch {
        void run(int n);
    }

    /** Nanoseconds for one time. */
    record Result(double oursNs, double rawNs) {}

    static Result fight(Batch ours, Batch raw) {
        int n = calibrate(raw);
        double[] oursNs = new double[ROUNDS];
        double[] rawNs = new double[ROUNDS];
        for (int round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
            double rawTime;
            double oursTime;
            if ((round & 1) == 0) {
                rawTime = time(raw, n);
                oursTime = time(ours, n);
            } else {
                oursTime = time(ours, n);
                rawTime = time(raw, n);
            }
            if (round >= 0) {
                oursNs[round] = oursTime;
                rawNs[round] = rawTime;
            }
        }
        return new Result(median(oursNs), median(rawNs));
    }

    /** How many times fill a round; also the first warm-up. */
    private static int calibrate(Batch batch) {
        int n = 1;
        while (true) {
            double ns = time(batch, n) * n;
            if (ns >= ROUND_NS || n >= 1 << 22) {
                return n;
            }
            n *= 2;
        }
    }

    private static double time(Batch batch, int n) {
        long start = System.nanoTime();
        batch.run(n);
        return (System.nanoTime() - start) / (double) n;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
