package dev.lite.api;

import java.time.Duration;
import java.util.Optional;

/**
 * A lock across the cluster: first come, first served. It is owned by what {@link #acquire} returns, and so by the session,
 * not by a thread: another thread may release it, and acquiring it twice waits. When the session ends, or its node is gone,
 * the lock passes on. Any thread.
 *
 * <p>Every method throws {@link SessionLostException} when the session has ended.
 */
public interface LtLock {
    /** The lock's name. */
    String name();

    /**
     * {@code LT_lock}. One atomic addition when it is free.
     *
     * @throws LiteTimeoutException when it was not acquired until the deadline; the caller is out of the queue then
     * @throws LmrUnavailableException when the node that holds the lock's word is lost, or an embedded caller's thread was
     *     interrupted (it is still marked so); the caller is out of the queue then. An attached application waits on
     * @throws LimitExceededException when as many of its session or node wait for the lock as may
     */
    HeldLock acquire(Duration deadline);

    /**
     * Acquires the lock if it is free now and nobody waits for it.
     *
     * @throws LmrUnavailableException when the node that holds the lock's word is lost
     */
    Optional<HeldLock> tryAcquire();
}
