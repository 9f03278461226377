package dev.lite.tier.qos;

import dev.lite.cluster.qos.QosPolicy;

/**
 * The rate of low priority under {@link QosPolicy.Mode#SW_PRI} at one bottleneck, by the three rules of the paper (§6.2):
 *
 * <ol>
 *   <li>while the load of high priority is heavy, low priority is limited;
 *   <li>while there is little or none of it, low priority is not limited;
 *   <li>while operations of high priority take longer, low priority is limited.
 * </ol>
 *
 * The load is the number of operations under way on average, so it needs no knowledge of the bottleneck. Each tick under
 * rule 1 or 3 halves the rate, down to what low priority keeps; each tick without them gives a tenth more. Confined to
 * one thread; has no clock of its own.
 */
final class LowRate {
    /** No limit. */
    static final long UNLIMITED = 0;

    /** A rate to begin with when it is not known what low priority used so far. */
    private static final long FIRST_BYTES_PER_SECOND = 256L << 20;

    /** So many ticks in a row the load must be light before the limit ends: else each pause of high priority would end it. */
    private static final int LIGHT_TICKS = 10;

    private static final double LOAD_OF_LAST_TICK = 0.25;
    private static final double MORE = 1.1;

    private double load;
    private int lightTicks = LIGHT_TICKS;
    private long bytesPerSecond = UNLIMITED;

    /**
     * What applies to the bottleneck.
     *
     * @param light below this load, low priority is not limited
     * @param heavy from this load on, it is limited
     * @param least the rate that low priority keeps
     */
    record Bounds(double light, double heavy, long least) {}

    /**
     * What one tick measured.
     *
     * @param underWay operations of high priority under way
     * @param longer whether they take longer than they would alone
     * @param lowBytesPerSecond what low priority used; 0: not known
     */
    record Measured(double underWay, boolean longer, long lowBytesPerSecond) {}

    /** The rate from now on; {@link #UNLIMITED}: no limit. */
    long tick(Bounds bounds, Measured measured) {
        load += (measured.underWay() - load) * LOAD_OF_LAST_TICK;
        if (load < bounds.light()) {
            lightTicks++;
            if (lightTicks >= LIGHT_TICKS) {
                bytesPerSecond = UNLIMITED;
            }
            return bytesPerSecond;
        }
        lightTicks = 0;
        if (load >= bounds.heavy() || measured.longer()) {
            bytesPerSecond = usedNow(measured) / 2;
        } else if (bytesPerSecond != UNLIMITED) {
            bytesPerSecond = Math.min(QosPolicy.RATE_MAX, (long) (bytesPerSecond * MORE));
        }
        if (bytesPerSecond != UNLIMITED) {
            bytesPerSecond = Math.max(bounds.least(), bytesPerSecond);
        }
        return bytesPerSecond;
    }

    private long usedNow(Measured measured) {
        if (bytesPerSecond != UNLIMITED) {
            return bytesPerSecond;
        }
        long used = measured.lowBytesPerSecond();
        return used > 0 ? used : FIRST_BYTES_PER_SECOND;
    }

    /** Operations of high priority under way on average. */
    double load() {
        return load;
    }
}
