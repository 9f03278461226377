package dev.lite.bench.load;

/**
 * A histogram of times: exact below {@value #STEPS} ns, above it {@value #STEPS} steps for each doubling, so that a value
 * is off by less than 1 %. Used by one thread.
 */
public final class Latencies {
    private static final int STEP_BITS = 6;
    private static final int STEPS = 1 << STEP_BITS;
    private static final int BUCKETS = (Long.SIZE - STEP_BITS) * STEPS;

    private final long[] counts = new long[BUCKETS];
    private long all;

    /** Adds a time in nanoseconds. */
    public void add(long ns) {
        counts[bucket(Math.max(0, ns))]++;
        all++;
    }

    /** Adds all times of another histogram. */
    public void add(Latencies other) {
        for (int i = 0; i < BUCKETS; i++) {
            counts[i] += other.counts[i];
        }
        all += other.all;
    }

    /** The number of times. */
    public long count() {
        return all;
    }

    /** The smallest time in nanoseconds that this share of all operations does not exceed; 0 without operations. */
    public double quantile(double share) {
        long wanted = Math.max(1, (long) Math.ceil(all * share));
        long seen = 0;
        for (int i = 0; i < BUCKETS; i++) {
            seen += counts[i];
            if (seen >= wanted) {
                return middle(i);
            }
        }
        return 0;
    }

    private static int bucket(long ns) {
        if (ns < STEPS) {
            return (int) ns;
        }
        int doublings = Long.SIZE - 1 - Long.numberOfLeadingZeros(ns) - STEP_BITS;
        return (doublings + 1) * STEPS + (int) (ns >>> doublings) - STEPS;
    }

    private static double middle(int bucket) {
        if (bucket < STEPS) {
            return bucket;
        }
        int doublings = bucket / STEPS - 1;
        long low = (long) (bucket % STEPS + STEPS) << doublings;
        return low + ((1L << doublings) - 1) / 2.0;
    }
}
