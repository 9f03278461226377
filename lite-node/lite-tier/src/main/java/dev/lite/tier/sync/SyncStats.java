package dev.lite.tier.sync;

/**
 * What happened to contended locks, since the node started.
 *
 * @param waits tickets drawn at this node that had to wait
 * @param wakeUps waiters of this node that were given the lock
 * @param turnsSent turns that this node, as a home, announced to a waiter's node
 * @param passedOver tickets that this node, as a home, passed over because nobody claimed them
 */
public record SyncStats(long waits, long wakeUps, long turnsSent, long passedOver) {}
