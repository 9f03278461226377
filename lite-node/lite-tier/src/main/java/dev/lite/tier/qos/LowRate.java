package dev.lite.tier.qos;

import dev.lite.cluster.qos.QosPolicy;

/**
 * The rate of low priority under {@link QosPolicy.Mode#SW_PRI}, by the three rules of the paper (§6.2):
 *
 * <ol>
 *   <li>while the load of high priority is heavy, low priority is limited;
 *   <li>while there is little or none of it, low priority is not limited;
 *   <li>when the round trip of high priority grows, low priority is limited.
 * </ol>
 *
 * The load is the number of operations under way on average: operations per second times their round trip. It needs no
 * knowledge of the link. Each tick under rule 1 or 3 halves the rate, down to what the policy leaves to low priority; each
 * tick without them gives a tenth more. Confined to one thread; has no clock of its own.
 */
final class LowRate {
    /** No limit. */
    static final long UNLIMITED = 0;

    /** A rate to begin with when it is not known what low priority used so far. */
    private static final long FIRST_BYTES_PER_SECOND = 256L << 20;

    /** So many ticks in a row the load must be light before the limit ends: else each pause of high priority would end it. */
    private static final int LIGHT_TICKS = 10;

    /** The shortest round trip is forgotten slowly, since the route or the sizes may have changed. */
    private static final double SHORTEST_GROWS = 1.0005;

    private static final double LOAD_OF_LAST_TICK = 0.25;
    private static final double MORE = 1.1;

    private double load;
    private double shortestNs;
    private int lightTicks = LIGHT_TICKS;
    private long bytesPerSecond = UNLIMITED;

    /**
     * What one tick measured.
     *
     * @param seconds the length of the tick
     * @param highOperations operations of high priority that ended
     * @param highNs the sum of their round trips
     * @param highPieces the sum of their lengths in pieces of 64 KiB, each at least one
     * @param lowBytes bytes of low priority
     */
    record Measured(double seconds, long highOperations, long highNs, long highPieces, long lowBytes) {}

    /** The rate from now on; {@link #UNLIMITED}: no limit. */
    long tick(QosPolicy policy, Measured measured) {
        double loadNow = measured.highNs() / (measured.seconds() * 1e9);
        load += (loadNow - load) * LOAD_OF_LAST_TICK;
        boolean grown = measureRoundTrip(policy, measured);
        if (load < policy.lightLoad()) {
            lightTicks++;
            if (lightTicks >= LIGHT_TICKS) {
                bytesPerSecond = UNLIMITED;
            }
            return bytesPerSecond;
        }
        lightTicks = 0;
        long least = policy.lowBytesPerSecond();
        if (load >= policy.heavyLoad() || grown) {
            bytesPerSecond = Math.max(least, usedNow(measured) / 2);
        } else if (bytesPerSecond != UNLIMITED) {
            bytesPerSecond = Math.min(QosPolicy.RATE_MAX, (long) (bytesPerSecond * MORE));
        }
        return bytesPerSecond;
    }

    private long usedNow(Measured measured) {
        if (bytesPerSecond != UNLIMITED) {
            return bytesPerSecond;
        }
        long used = (long) (measured.lowBytes() / measured.seconds());
        return used > 0 ? used : FIRST_BYTES_PER_SECOND;
    }

    private boolean measureRoundTrip(QosPolicy policy, Measured measured) {
        if (measured.highOperations() == 0) {
            return false;
        }
        double roundTripNs = (double) measured.highNs() / measured.highPieces();
        shortestNs = shortestNs == 0 ? roundTripNs : Math.min(roundTripNs, shortestNs * SHORTEST_GROWS);
        return roundTripNs > policy.roundTripFactor() * shortestNs;
    }

    /** Operations of high priority under way on average. */
    double load() {
        return load;
    }

    /** The shortest round trip of high priority in nanoseconds, for each 64 KiB; 0: not known. */
    double shortestNs() {
        return shortestNs;
    }
}
