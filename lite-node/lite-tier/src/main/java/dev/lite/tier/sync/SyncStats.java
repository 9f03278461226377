package dev.lite.tier.sync;

/**
 * Counters for contended locks since the node started.
 *
 * @param waits tickets of this node that had to wait
 * @param wakeUps waiters of this node that got the lock
 * @param turnsSent turns of which this node, as a home, notified a waiter's node
 * @param passedOver unclaimed tickets that this node, as a home, passed over
 */
public record SyncStats(long waits, long wakeUps, long turnsSent, long passedOver) {}
