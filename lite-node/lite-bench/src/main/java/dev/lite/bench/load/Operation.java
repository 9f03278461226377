package dev.lite.bench.load;

/** What one thread repeats. Used by one thread at a time; each run may use another thread. */
@FunctionalInterface
public interface Operation {
    /** Returned by {@link #run} when nothing that counts has completed. */
    long UNCOUNTED = Long.MIN_VALUE;

    /** Before the first operation of a run. */
    default void begin() {}

    /**
     * Completes one operation.
     *
     * @param nowNs the present time on the clock of {@link System#nanoTime}
     * @return when the operation that has now completed began: {@code nowNs}, or earlier when several are outstanding; or
     *     {@link #UNCOUNTED}
     */
    long run(long nowNs);

    /** After the last operation of a run; completes the outstanding ones. */
    default void end() {}
}
