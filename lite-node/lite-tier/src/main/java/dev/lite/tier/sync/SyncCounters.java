package dev.lite.tier.sync;

import java.util.concurrent.atomic.AtomicLong;

/** Counters for contended locks of one node. Uncontended locks count nothing. Any thread. */
final class SyncCounters {
    private final AtomicLong waits = new AtomicLong();
    private final AtomicLong wakeUps = new AtomicLong();
    private final AtomicLong turnsSent = new AtomicLong();
    private final AtomicLong passedOver = new AtomicLong();

    /** A ticket of this node has to wait. */
    void waited() {
        waits.incrementAndGet();
    }

    /** A waiter of this node got the lock. */
    void wokenUp() {
        wakeUps.incrementAndGet();
    }

    /** This node, as a home, notified a waiter's node of its turn. */
    void turnSent() {
        turnsSent.incrementAndGet();
    }

    /** This node passed over an unclaimed ticket as a home, or an abandoned one of its own. */
    void passedOver() {
        passedOver.incrementAndGet();
    }

    SyncStats snapshot() {
        return new SyncStats(waits.get(), wakeUps.get(), turnsSent.get(), passedOver.get());
    }
}
