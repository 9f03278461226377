package dev.lite.tier;

import dev.lite.os.waiting.Deadline;

/**
 * When the operations of one session and priority may begin, and what is counted of them. There is none while the node
 * limits and counts nothing. Any thread.
 */
public interface Admission {
    /** What {@link #begin} returns for an operation that is not measured. */
    long NOT_MEASURED = 0;

    /**
     * Whether an operation must {@linkplain #take take permits} now.
     *
     * @param mapped whether it is a copy of mapped memory, here and below; otherwise it needs a fabric
     */
    boolean isLimited(boolean mapped);

    /**
     * Takes the permits of an operation; waits for them. Call it before the operation holds anything.
     *
     * @param bytes of the operation; not negative
     * @throws dev.lite.api.LiteTimeoutException if there were none until the deadline; the operation has not begun
     * @throws dev.lite.api.LmrUnavailableException if the thread was interrupted; likewise
     */
    void take(boolean mapped, long bytes, Deadline deadline);

    /** {@link #take} without waiting; false: there are none. */
    boolean tryTake(boolean mapped, long bytes);

    /**
     * An operation begins.
     *
     * @param mapped of these at most a sample is measured, since measuring one costs as much as a short copy
     * @return for {@link #end}
     */
    long begin(boolean mapped);

    /** The operation has ended, whatever its outcome. */
    void end(boolean mapped, long bytes, long begun);
}
