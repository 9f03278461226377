package dev.lite.tier;

import dev.lite.api.HeldLock;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The locks and barriers of one {@link TierSession}. Closing the session releases them. Any thread. */
public interface TierSync extends LtSync {

    /** {@link #lock(String)}, waiting for the directory at most until the deadline. */
    LtLock lock(String name, Duration deadline);

    /** {@link #barrier(String, int)}, waiting for the directory at most until the deadline. */
    LtBarrier barrier(String name, int parties, Duration deadline);

    /**
     * Releases a lock if that needs no answer of another node. Does not block.
     *
     * @param held a lock of this session
     * @return false if it needs one; the lock is still held then, and {@link HeldLock#close} releases it
     */
    boolean releaseAtOnce(HeldLock held);

    /** The names of the locks that the session holds now. */
    List<String> held();

    /** How often this session lost locks because its node was fenced; only grows. */
    int locksLost();

    /**
     * Sets the action that runs after each such loss, before an operation that was paused continues. It must not block.
     * At most one; null removes it.
     */
    void whenLocksLost(@Nullable Runnable action);

    /**
     * Ends every wait with {@link dev.lite.api.SessionLostException} and refuses new waits. Held locks stay held until
     * the session closes.
     */
    void endWaits();
}
