package dev.lite.api;

/** A lock that this session holds. Any thread may call any method, so another thread may release the lock. */
public interface HeldLock extends AutoCloseable {
    /** The lock's name. */
    String name();

    /**
     * A number that is larger than the token of every earlier holder of this lock. Pass it along with each write to an outside
     * system: the system can then reject a holder that was paused and lost the lock in the meantime.
     */
    long fencingToken();

    /**
     * Whether the lock is still held: neither released, nor lost. A lock is lost with its session, or when the cluster removed
     * the session's node and passed the lock on. In the second case, operations on handles of an attached session throw {@link
     * LmrUnavailableException} until the application has closed the lost lock. Also returns false if the node does not answer.
     */
    boolean isHeld();

    /**
     * {@code LT_unlock}: releases the lock, without waiting for the next holder; the longest waiter gets it next. A second call does
     * nothing; neither does a call after the lock was lost.
     */
    @Override
    void close();
}
