package dev.lite.fabric.shm;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.StampedLock;

/**
 * Lets users in between {@link #open} and {@link #close}. Close returns when no user is inside any more, and no user can enter
 * afterwards. Entering never blocks and allocates nothing. Any thread.
 */
final class Gate {
    /** What {@link #enter} answers when the gate is not open. */
    static final long REFUSED = 0;

    private static final int NEW = 0;
    private static final int OPEN = 1;
    private static final int CLOSED = 2;

    private final AtomicInteger state = new AtomicInteger(NEW);
    private final StampedLock users = new StampedLock();

    /** Opens a new gate; returns whether it is open now. */
    boolean open() {
        return state.compareAndSet(NEW, OPEN);
    }

    /** A stamp for {@link #exit}, or {@link #REFUSED}. A thread that is inside must not close. */
    long enter() {
        if (state.get() != OPEN) {
            return REFUSED;
        }
        // Refuses only while close holds the lock.
        long stamp = users.tryReadLock();
        if (stamp != REFUSED && state.get() != OPEN) {
            users.unlockRead(stamp);
            return REFUSED;
        }
        return stamp;
    }

    void exit(long stamp) {
        users.unlockRead(stamp);
    }

    /** Closes the gate, even if it was never opened. A second call also returns only when no user is inside. */
    void close() {
        // Refuse new users first: otherwise they could overtake the waiting writer again and again.
        state.set(CLOSED);
        users.unlockWrite(users.writeLock());
    }
}
