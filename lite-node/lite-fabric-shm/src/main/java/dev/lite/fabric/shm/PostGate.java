package dev.lite.fabric.shm;

import dev.lite.os.InFlight;

/**
 * Lets posts in between {@link #open} and {@link #close}. Close returns when no post is inside any more, and no post can enter
 * afterwards. A post is inside only for its copy and never waits there. So {@link InFlight} can track it without a lock or a fence
 * in the post; only closing is expensive. For users that stay longer there is {@link Gate}. Any thread.
 */
final class PostGate {
    /** What {@link #enter} answers when the gate is not open. */
    static final long REFUSED = 0;

    private static final int NEW = 0;
    private static final int OPEN = 1;
    private static final int CLOSED = 2;

    private final int number = InFlight.newNumber();
    private volatile int state = NEW;

    /** Opens a new gate; returns whether it is open now. */
    synchronized boolean open() {
        if (state == NEW) {
            state = OPEN;
        }
        return state == OPEN;
    }

    /** A slot for {@link #exit}, or {@link #REFUSED}. A thread that is inside must not close. */
    long enter() {
        long slot = InFlight.enterWithin(number);
        // Checked after the announcement: either this thread sees that the gate is closed, or close sees the
        // announcement.
        if (state == OPEN) {
            return slot;
        }
        InFlight.exit(slot);
        return REFUSED;
    }

    void exit(long slot) {
        InFlight.exit(slot);
    }

    /** Closes the gate, even if it was never opened. A second call also returns only when no post is inside. */
    void close() {
        synchronized (this) {
            state = CLOSED;
        }
        InFlight.awaitEnd(inside -> inside == number);
    }
}
