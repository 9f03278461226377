package dev.lite.tier.qos;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.Priority;
import dev.lite.os.waiting.Deadline;

/**
 * The transfers under way to one node. They are bounded, so that a queue forms here and not in the link, where it would be too
 * late. Here high priority overtakes low priority ({@value #HIGH_IN_A_ROW} times in a row), and applications of one priority
 * take turns. Any thread.
 *
 * <p>Bound: {@value #OPERATIONS_MAX} transfers and {@value #BYTES_MAX} bytes, and one more transfer. While several
 * applications of one priority share the link, the bytes are fewer: see {@link BytesLimit}. Low priority has a part
 * of it, so that high priority always finds a bounce buffer.
 */
final class LinkWindow {
    static final int OPERATIONS_MAX = 24;
    static final int LOW_OPERATIONS_MAX = 16;
    static final long BYTES_MAX = 1 << 20;
    static final long LOW_BYTES_MAX = 512 << 10;

    /** After so many of high priority, one of low priority that waits goes first. Otherwise it could wait for ever. */
    static final int HIGH_IN_A_ROW = 16;

    private final BytesLimit limit = new BytesLimit(BYTES_MAX);

    private final FairQueue high = new FairQueue(this::takeHigh);
    private final FairQueue low = new FairQueue(this::takeLow);

    @GuardedBy("this")
    private int operations;

    @GuardedBy("this")
    private long bytes;

    @GuardedBy("this")
    private int lowOperations;

    @GuardedBy("this")
    private long lowBytes;

    /** Those of high priority that began while one of low priority waited, since the last one of low priority. */
    @GuardedBy("this")
    private int highInARow;

    @GuardedBy("this")
    private boolean take(long cost) {
        if (operations >= OPERATIONS_MAX || bytes >= limit.bytes()) {
            return false;
        }
        operations++;
        bytes += cost;
        return true;
    }

    private synchronized boolean takeHigh(long cost) {
        if (!take(cost)) {
            return false;
        }
        if (!low.isEmpty()) {
            highInARow++;
        }
        return true;
    }

    private synchronized boolean takeLow(long cost) {
        boolean turn = high.isEmpty() || highInARow >= HIGH_IN_A_ROW;
        if (!turn || lowOperations >= LOW_OPERATIONS_MAX || lowBytes >= LOW_BYTES_MAX || !take(cost)) {
            return false;
        }
        highInARow = 0;
        lowOperations++;
        lowBytes += cost;
        return true;
    }

    private FairQueue queue(Priority priority) {
        return priority == Priority.HIGH ? high : low;
    }

    /** Begins a transfer if it need not wait. */
    boolean tryEnter(Object application, Priority priority, long cost) {
        return queue(priority).tryEnter(application, cost);
    }

    /** Whether a transfer would wait for others. */
    boolean isFull(Priority priority) {
        if (!high.isEmpty() || (priority == Priority.LOW && !low.isEmpty())) {
            return true;
        }
        synchronized (this) {
            return operations >= OPERATIONS_MAX
                    || bytes >= limit.bytes()
                    || (priority == Priority.LOW && (lowOperations >= LOW_OPERATIONS_MAX || lowBytes >= LOW_BYTES_MAX));
        }
    }

    /** Begins a transfer; false if there was no room until the deadline, or the thread was interrupted. */
    boolean enter(Object application, Priority priority, long cost, Deadline deadline) {
        FairQueue queue = queue(priority);
        return queue.tryEnter(application, cost) || queue.await(queue.enter(application, cost), deadline);
    }

    /** The longest transfer that should go in one piece now. */
    long pieceBytes() {
        return limit.pieceBytes();
    }

    /** A transfer has ended. */
    void leave(Priority priority, long cost) {
        if (limit.ended(System.nanoTime(), cost)) {
            limit.adapt(Math.max(high.takeActive(), low.takeActive()));
        }
        boolean lowFirst;
        synchronized (this) {
            lowFirst = highInARow >= HIGH_IN_A_ROW;
            operations--;
            bytes -= cost;
            if (priority == Priority.LOW) {
                lowOperations--;
                lowBytes -= cost;
            }
        }
        if (lowFirst && !low.isEmpty()) {
            low.pump();
        }
        if (!high.isEmpty()) {
            high.pump();
        }
        if (!low.isEmpty()) {
            low.pump();
        }
    }

    void forget(Object application) {
        high.forget(application);
        low.forget(application);
    }
}
