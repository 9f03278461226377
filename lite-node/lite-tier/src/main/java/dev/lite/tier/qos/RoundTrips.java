package dev.lite.tier.qos;

/** Whether round trips have grown beyond the shortest. Confined to one thread. */
final class RoundTrips {
    /** The shortest round trip is forgotten slowly, since the route or the sizes may have changed. */
    private static final double SHORTEST_GROWS = 1.0005;

    private double shortestNs;

    /**
     * Ends a tick.
     *
     * @param sum of the operations that ended in it
     * @param pieces their lengths in pieces of 64 KiB, each at least one; 0: no operation ended
     * @param factor so many times the shortest is too long
     */
    boolean haveGrown(long sum, long pieces, double factor) {
        if (pieces == 0) {
            return false;
        }
        double nowNs = (double) sum / pieces;
        shortestNs = shortestNs == 0 ? nowNs : Math.min(nowNs, shortestNs * SHORTEST_GROWS);
        return nowNs > factor * shortestNs;
    }
}
