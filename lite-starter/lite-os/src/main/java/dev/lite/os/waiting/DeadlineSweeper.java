package dev.lite.os.waiting;

import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * Ends asynchronous operations after their deadlines. One sweep over all of them follows the earliest deadline, however many are
 * under way: a timer for each would cost more than the operation. Any thread.
 */
public final class DeadlineSweeper {
    private static final long NONE = Long.MIN_VALUE;
    /** The delay of a sweep after a deadline, so that it covers other deadlines of about the same time. */
    private static final long LATER_NS = 1_000_000;

    /** The pause after a sweep that failed. */
    private static final long AGAIN_NS = 200_000_000;

    private final Runnable sweep;
    private final Executor threads;

    /**
     * The times of the sweeps that are scheduled, by {@link System#nanoTime}. A further one is scheduled only before all of them: any
     * sweep sees every operation and calls {@link #sweepAfter} again. Else each sweep would schedule several, and they would multiply.
     * Guarded by this.
     */
    private final PriorityQueue<Long> scheduled = new PriorityQueue<>((one, other) -> Long.signum(one - other));

    /** The first of them; {@link #NONE}: there is none. Written under this, read without. */
    private volatile long firstNs = NONE;

    /**
     * Begins without a sweep.
     *
     * @param sweep ends the operations whose deadline has passed, and calls {@link #sweepAfter} for each of the others. Runs on a
     *     virtual thread, and again a little later if it throws
     */
    public DeadlineSweeper(Runnable sweep) {
        this(sweep, task -> {
            Thread unused = Thread.ofVirtual().start(task);
        });
    }

    /** @param threads starts a thread for each sweep */
    DeadlineSweeper(Runnable sweep, Executor threads) {
        this.sweep = sweep;
        this.threads = threads;
    }

    /**
     * Schedules a sweep after a deadline. Does not block. If it throws, because there is no memory for a timer, nothing is scheduled.
     *
     * @param endNs the deadline, by {@link System#nanoTime}
     */
    public void sweepAfter(long endNs) {
        if (isCovered(endNs)) {
            return;
        }
        synchronized (this) {
            if (isCovered(endNs)) {
                return;
            }
            scheduled.add(endNs);
            firstNs = endNs;
        }
        boolean set = false;
        try {
            long inNs = endNs - System.nanoTime() + LATER_NS;
            CompletableFuture.delayedExecutor(Math.max(0, inNs), TimeUnit.NANOSECONDS, task -> begin(task, endNs))
                    .execute(() -> sweep(endNs));
            set = true;
        } finally {
            if (!set) {
                remove(endNs); // else all later deadlines would rely on it
            }
        }
    }

    /** The thread of the timers. */
    private void begin(Runnable task, long endNs) {
        boolean begun = false;
        try {
            threads.execute(task);
            begun = true;
        } finally {
            if (!begun) { // no memory for a thread
                remove(endNs);
                sweepAfter(System.nanoTime() + AGAIN_NS);
            }
        }
    }

    private synchronized void remove(long endNs) {
        boolean unused = scheduled.remove(endNs);
        Long first = scheduled.peek();
        firstNs = first == null ? NONE : first;
    }

    private boolean isCovered(long endNs) {
        long first = firstNs;
        return first != NONE && endNs - first >= 0;
    }

    /** How many sweeps are scheduled. */
    synchronized int scheduled() {
        return scheduled.size();
    }

    private void sweep(long endNs) {
        remove(endNs);
        boolean complete = false;
        try {
            sweep.run(); // after that: an operation that relied on this sweep is seen by it
            complete = true;
        } finally {
            if (!complete) {
                // For the operations that it did not reach: no other sweep may follow.
                sweepAfter(System.nanoTime() + AGAIN_NS);
            }
        }
    }
}
