package dev.lite.tier.qos;

import dev.lite.os.waiting.Deadline;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What one session has of a {@link Limiter}. It takes permits in batches of a millisecond, so most operations only decrement
 * a number that no other session touches. Any thread.
 */
final class Account {
    private static final long BATCHES_PER_SECOND = 1000;

    private final Limiter limiter;
    private final Object application;
    private final AtomicLong left = new AtomicLong();

    /** @param application the key of the session's place in the queue */
    Account(Limiter limiter, Object application) {
        this.limiter = limiter;
        this.application = application;
    }

    boolean isLimited() {
        return limiter.isLimited();
    }

    /** {@link Limiter#number}. */
    int limit() {
        return limiter.number();
    }

    /** The rate; 0: no limit. */
    long perSecond() {
        return limiter.perSecond();
    }

    /** Takes permits if there are some and nobody else waits for them. */
    boolean tryTake(long cost) {
        if (!limiter.isLimited() || spend(cost)) {
            return true;
        }
        long batch = Math.max(cost, limiter.perSecond() / BATCHES_PER_SECOND);
        if (!limiter.tryTake(application, batch)) {
            return false;
        }
        left.addAndGet(batch - cost);
        return true;
    }

    private boolean spend(long cost) {
        long now;
        do {
            now = left.get();
            if (now < cost) {
                return false;
            }
        } while (!left.compareAndSet(now, now - cost));
        return true;
    }

    /**
     * Takes permits; waits for them.
     *
     * @return false if there were none until the deadline, or the thread was interrupted
     */
    boolean take(long cost, Deadline deadline) {
        return tryTake(cost) || limiter.take(application, cost, deadline);
    }

    /** Gives permits of this {@link #limit} back that were taken for an operation that did not begin. */
    void giveBack(long cost) {
        limiter.giveBack(application, cost);
    }
}
