package dev.lite.tier.sync;

import java.util.concurrent.atomic.AtomicLong;

/** How often what happened to contended locks of one node; an uncontended one counts nothing. Any thread. */
final class SyncCounters {
    private final AtomicLong waits = new AtomicLong();
    private final AtomicLong wakeUps = new AtomicLong();
    private final AtomicLong turnsSent = new AtomicLong();
    private final AtomicLong passedOver = new AtomicLong();

    /** A ticket that was drawn here has to wait. */
    void waited() {
        waits.incrementAndGet();
    }

    /** A waiter of this node was given the lock. */
    void wokenUp() {
        wakeUps.incrementAndGet();
    }

    /** This node, a home, notified a waiter's node of its turn. */
    void turnSent() {
        turnsSent.incrementAndGet();
    }

    /** This node, a home, passed over a ticket that nobody claimed. */
    void passedOver() {
        passedOver.incrementAndGet();
    }

    SyncStats snapshot() {
        return new SyncStats(waits.get(), wakeUps.get(), turnsSent.get(), passedOver.get());
    }
}
