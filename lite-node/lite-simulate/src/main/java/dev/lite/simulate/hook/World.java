package dev.lite.simulate.hook;

/**
 * A simulated world: what rewritten code gets instead of the real clock, the real scheduler and real randomness. Called by the
 * world's own threads only, one at a time.
 */
public interface World {
    /** The virtual clock of the calling thread's node, in nanoseconds. */
    long nanoTime();

    /** The virtual wall clock of the calling thread's node, in milliseconds. */
    long currentTimeMillis();

    /** A step of a loop that spins. */
    void spinWait();

    /**
     * Sleeps until a thread {@linkplain #wakeSleepers wakes} those who wait for one of these bits, or until the timeout; may
     * return earlier. Returns at once if the 32-bit word at this address has another value.
     */
    void sleepOn(long address, int expected, int bits, long timeoutNs);

    /** Wakes the threads that sleep on this word for one of these bits. Returns how many. */
    int wakeSleepers(long address, int bits);

    /** A place where the calling thread may be interleaved with others. */
    void yieldPoint();

    /** A class initializer begins or ends: no thread is switched in between, since other threads may wait for the class. */
    void initializing(boolean begins);

    /**
     * Makes a simulated thread, not started.
     *
     * @param name may be empty
     * @param platform whether the code wanted a platform thread and shall see one
     */
    Thread newThread(String name, boolean platform, Runnable task);

    /** Whether the code that made this thread wanted a platform thread. */
    boolean isPlatform(Thread thread);

    /** A number of the thread that is the same in each repetition. */
    long threadId(Thread thread);

    /** Runs a task on a thread of its own after a delay. */
    void later(long delayNs, Runnable task);

    /** The next 64 random bits. */
    long nextRandom();
}
