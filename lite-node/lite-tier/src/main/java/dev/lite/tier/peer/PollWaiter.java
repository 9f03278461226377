package dev.lite.tier.peer;

import dev.lite.os.waiting.StagedWait;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A condition that one thread waits for, with {@link PollRole#await} or {@link #awaitAlone}. Another thread, for
 * example the holder of the poll role, first makes the condition true, then calls {@link #signal}. Reusable, by one
 * thread at a time.
 */
public abstract class PollWaiter {
    private static final long FOR_EVER_NS = TimeUnit.DAYS.toNanos(3650);

    /** The waiting thread while it is parked without a poll role. */
    private volatile @Nullable Thread parked;

    /** The role that the waiting thread holds while it blocks in the fabric. */
    private volatile @Nullable PollRole asleepIn;

    /** Whether the condition is true. Must be a cheap volatile read and stay true until the wait has ended. */
    protected abstract boolean isOver();

    /** Wakes the waiting thread if it sleeps. Call after the condition became true. Any thread. */
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
     * Waits without polling a fabric.
     *
     * @param deadlineNs a time of {@link System#nanoTime}
     * @param wait how the thread waits before it parks
     * @return whether the condition is true; otherwise the deadline passed or the thread was interrupted
     */
    public final boolean awaitAlone(long deadlineNs, StagedWait wait) {
        int first = wait.begin(1);
        for (int left = first; left > 0; left = wait.pause(left)) {
            if (isOver()) {
                if (left != first) {
                    wait.hit(left);
                }
                return true;
            }
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

    /**
     * Whether the condition is a request, which may come at any time. A virtual thread parks at once then: those that yield delay the
     * one that polls for them all, and parked ones do not.
     */
    protected boolean isRequest() {
        return false;
    }

    /** Whether the condition is the answer of another process, which mostly comes within some pauses. */
    protected boolean isShort() {
        return false;
    }

    /** Waiting thread: parks until {@link #signal}, but not if the condition is true. May return early. */
    final void park(long leftNs) {
        parked = Thread.currentThread();
        // Checked after the announcement: a thread that signals later sees the announcement.
        if (!isOver()) {
            if (leftNs > FOR_EVER_NS) {
                LockSupport.park(this); // a virtual thread's timed park costs a timer
            } else {
                LockSupport.parkNanos(this, leftNs);
            }
        }
        parked = null;
    }

    /** Waiting thread: from now on {@link #signal} wakes the role's fabric; null: nothing. */
    void announceAsleep(@Nullable PollRole role) {
        asleepIn = role;
    }
}
