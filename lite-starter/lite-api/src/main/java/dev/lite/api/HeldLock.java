package dev.lite.api;

/** A lock that this session holds. Any thread. */
public interface HeldLock extends AutoCloseable {
    /** The lock's name. */
    String name();

    /**
     * Larger than that of every earlier holder: whoever is written to under the lock can refuse a holder that was paused and
     * lost it meanwhile.
     */
    long fencingToken();

    /** Whether it is still held: not released, and the session not lost. */
    boolean isHeld();

    /**
     * {@code LT_unlock}: passes the lock to who waits longest. A second call does nothing, nor does one after the lock was lost.
     * Does not wait for the next holder.
     */
    @Override
    void close();
}
