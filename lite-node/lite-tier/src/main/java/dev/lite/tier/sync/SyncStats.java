package dev.lite.tier.sync;

/**
 * Counters for contended locks since the node started.
 *
 * @param waits tickets of this node that had to wait
 * @param wakeUps waiters of this node that got the lock
 * @param turnsSent turns of which this node, as a home, notified a waiter's node
 * @param passedOver tickets that this node passed over: unclaimed ones as a home, and abandoned ones of its own
 */
public record SyncStats(long waits, long wakeUps, long turnsSent, long passedOver) {}
