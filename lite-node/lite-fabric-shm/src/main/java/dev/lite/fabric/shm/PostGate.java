package dev.lite.fabric.shm;

import dev.lite.os.InFlight;

/**
 * Lets posts in between {@link #open} and {@link #close}; close returns when none is inside any more, and none gets in
 * afterwards. A post stays as long as its copy and never waits inside, so it is found by {@link InFlight}, which costs it
 * neither a lock nor a fence; closing pays. For longer stays there is {@link Gate}. Any thread.
 */
final class PostGate {
    /** What {@link #enter} answers when the gate is not open. */
    static final long REFUSED = 0;

    private static final int NEW = 0;
    private static final int OPEN = 1;
    private static final int CLOSED = 2;

    private final int number = InFlight.newNumber();
    private volatile int state = NEW;

    /** Opens a new gate; whether it is open now. */
    synchronized boolean open() {
        if (state == NEW) {
            state = OPEN;
        }
        return state == OPEN;
    }

    /** A slot for {@link #exit}, or {@link #REFUSED}. A thread that is inside must not close. */
    long enter() {
        long slot = InFlight.enterWithin(number);
        // After the announcement: either this sees that it is closed, or close sees the announcement.
        if (state == OPEN) {
            return slot;
        }
        InFlight.exit(slot);
        return REFUSED;
    }

    void exit(long slot) {
        InFlight.exit(slot);
    }

    /** Closes, also before it was opened; a second call, too, returns only when everybody is out. */
    void close() {
        synchronized (this) {
            state = CLOSED;
        }
        InFlight.awaitEnd(inside -> inside == number);
    }
}
