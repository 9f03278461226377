package dev.lite.tier.qos;

import dev.lite.cluster.qos.QosPolicy;

/**
 * The policy of a node and what it does now.
 *
 * @param policy the policy in effect
 * @param lowBytesPerSecondNow the limit of low priority over fabrics now; 0: it is not limited
 * @param lowMappedBytesPerSecondNow the limit of low priority on mapped memory now; 0: it is not limited
 * @param highLoad operations of high priority over fabrics that are under way on average
 * @param highMappedLoad those on mapped memory
 * @param high sums of high priority
 * @param low sums of low priority
 */
public record QosStatus(
        QosPolicy policy,
        long lowBytesPerSecondNow,
        long lowMappedBytesPerSecondNow,
        double highLoad,
        double highMappedLoad,
        ClassStatus high,
        ClassStatus low) {

    /**
     * Sums of one priority since the start of the node, of times with a policy. Operations on mapped memory are counted only
     * while the principal has a quota or low priority is limited there; one of 64 counts for all.
     *
     * @param sessions open sessions of this priority
     * @param operations ended operations
     * @param bytes their bytes
     * @param roundTripNs the sum of their round trips
     * @param queued operations that waited for permits
     * @param queuedNs the sum of their waits
     * @param refused operations that got no permits until their deadlines
     */
    public record ClassStatus(
            int sessions, long operations, long bytes, long roundTripNs, long queued, long queuedNs, long refused) {}
}
