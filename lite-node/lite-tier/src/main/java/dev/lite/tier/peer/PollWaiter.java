package dev.lite.tier.peer;

import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Something that one thread waits for, with {@link PollRole#await} or {@link #awaitAlone}. The thread that makes it come true, the
 * holder of a poll role or any other thread, does so first and then calls {@link #signal}. May be used again and again, by
 * one thread at a time.
 */
public abstract class PollWaiter {
    /** Its thread while it sleeps without a poll role. */
    private volatile @Nullable Thread parked;

    /** The role whose holder it is while that sleeps. */
    private volatile @Nullable PollRole asleepIn;

    // Guarded by the role's lock: its place among the followers.
    @Nullable
    PollWaiter nextFollower;

    boolean follows;

    /** Whether it came true; volatile, cheap, and true from then on until the wait has ended. */
    protected abstract boolean isOver();

    /** Wakes its thread if that sleeps. Any thread; after it came true. */
    public final void signal() {
        Thread sleeper = parked;
        if (sleeper != null) {
            LockSupport.unpark(sleeper);
            return;
        }
        PollRole role = asleepIn;
        if (role != null) {
            role.wakeup();
        }
    }

    /**
     * Waits for something that no fabric brings.
     *
     * @param deadlineNs of {@link System#nanoTime}
     * @param spins spins before it sleeps
     * @return whether it came true; otherwise the deadline passed or the thread was interrupted
     */
    public final boolean awaitAlone(long deadlineNs, int spins) {
        for (int i = 0; i < spins; i++) {
            if (isOver()) {
                return true;
            }
            Thread.onSpinWait();
        }
        while (!isOver()) {
            long leftNs = deadlineNs - System.nanoTime();
            if (leftNs <= 0 || Thread.currentThread().isInterrupted()) {
                return isOver();
            }
            park(leftNs);
        }
        return true;
    }

    private void park(long leftNs) {
        announceParked();
        if (!isOver()) {
            LockSupport.parkNanos(this, leftNs);
        }
        parked = null;
    }

    /** Its thread: from now on {@link #signal} unparks it. It checks once more after this. */
    void announceParked() {
        parked = Thread.currentThread();
    }

    /** Its thread: ends {@link #announceParked}. */
    void announceUnparked() {
        parked = null;
    }

    /** Its thread: from now on {@link #signal} wakes the role's fabric, or null: nothing. */
    void announceAsleep(@Nullable PollRole role) {
        asleepIn = role;
    }

    /** Wakes it to take the poll role. */
    void wakeToLead() {
        Thread sleeper = parked;
        if (sleeper != null) {
            LockSupport.unpark(sleeper);
        }
    }
}
