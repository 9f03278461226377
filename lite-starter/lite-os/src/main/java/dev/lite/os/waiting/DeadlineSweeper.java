package dev.lite.os.waiting;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Ends asynchronous operations after their deadlines. One sweep over all of them follows the earliest deadline, however many are
 * under way: a timer for each would cost more than the operation. Any thread.
 */
public final class DeadlineSweeper {
    private static final long NONE = Long.MIN_VALUE;
    /** The delay of a sweep after a deadline, so that it covers other deadlines of about the same time. */
    private static final long LATER_NS = 1_000_000;

    private final Runnable sweep;

    /** The time of the next sweep, by {@link System#nanoTime}. */
    private final AtomicLong nextNs = new AtomicLong(NONE);

    /**
     * Begins without a sweep.
     *
     * @param sweep ends the operations whose deadline has passed, and calls {@link #sweepAfter} for each of the others. Runs on a
     *     virtual thread
     */
    public DeadlineSweeper(Runnable sweep) {
        this.sweep = sweep;
    }

    /**
     * Schedules a sweep after a deadline. Does not block.
     *
     * @param endNs the deadline, by {@link System#nanoTime}
     */
    public void sweepAfter(long endNs) {
        long next = nextNs.get();
        while (next == NONE || endNs - next < 0) {
            if (nextNs.compareAndSet(next, endNs)) {
                long inNs = endNs - System.nanoTime() + LATER_NS;
                CompletableFuture.delayedExecutor(Math.max(0, inNs), TimeUnit.NANOSECONDS, Thread.ofVirtual()::start)
                        .execute(this::sweep);
                return;
            }
            next = nextNs.get();
        }
    }

    private void sweep() {
        nextNs.set(NONE);
        sweep.run();
    }
}
