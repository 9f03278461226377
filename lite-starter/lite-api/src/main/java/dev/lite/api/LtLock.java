package dev.lite.api;

import java.time.Duration;
import java.util.Optional;

/**
 * A fair lock across the cluster (paper §7.2): waiters get it in the order of their requests. Any thread.
 *
 * <p>The owner is the session, not a thread: another thread may release the lock, and a second {@code acquire} by the same thread
 * waits. The lock is released when the session ends, also when the application or its node dies.
 *
 * <p>Every method throws {@link SessionLostException} when the session has ended.
 */
public interface LtLock {
    /** The lock's name. */
    String name();

    /**
     * {@code LT_lock}: acquires the lock, waiting if necessary. A free lock costs one atomic addition.
     *
     * @return the held lock; close it to release it
     * @throws LiteTimeoutException when the deadline passed first; the caller no longer waits in the queue
     * @throws LmrUnavailableException when the node that stores the lock is lost. In an application with an embedded node also when
     *     the thread is interrupted (the interrupt status stays set); an attached application ignores interrupts while its
     *     node is there. In both cases the caller no longer waits in the queue
     * @throws LimitExceededException when the session or its node has reached its limit of waiters
     */
    HeldLock acquire(Duration deadline);

    /**
     * Acquires the lock if it is free and nobody waits for it. Does not wait for the lock, but for the node's answer, at most for the
     * session's deadline.
     *
     * @return the held lock, or empty if it is not free
     * @throws LmrUnavailableException when the node that stores the lock is lost
     */
    Optional<HeldLock> tryAcquire();
}
