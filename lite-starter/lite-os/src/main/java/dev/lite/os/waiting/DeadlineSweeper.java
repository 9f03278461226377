package dev.lite.os.waiting;

import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;

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
    private final LongFunction<Executor> timers;

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
        this(sweep, threads, inNs -> CompletableFuture.delayedExecutor(inNs, TimeUnit.NANOSECONDS, Runnable::run));
    }

    /**
     * The same with timers of a test.
     *
     * @param timers makes one that executes a task after so many nanoseconds
     */
    DeadlineSweeper(Runnable sweep, Executor threads, LongFunction<Executor> timers) {
        this.sweep = sweep;
        this.threads = threads;
        this.timers = timers;
    }

    /**
     * Schedules a sweep after a deadline. Does not block. If it throws, because there is no memory for a timer, nothing relies on it.
     *
     * @param endNs the deadline, by {@link System#nanoTime}
     */
    public void sweepAfter(long endNs) {
        if (!isCovered(endNs)) {
            schedule(endNs);
        }
    }

    private synchronized void schedule(Long time) {
        if (isCovered(time)) {
            return;
        }
        long inNs = time - System.nanoTime() + LATER_NS;
        Runnable task = () -> sweep(time);
        timers.apply(Math.max(0, inNs)).execute(() -> begin(task, time));
        scheduled.add(time); // if this fails, that sweep is one too many
        firstNs = time; // only now: later deadlines rely on it
    }

    /** The thread of the timers. */
    private void begin(Runnable task, Long time) {
        boolean begun = false;
        try {
            threads.execute(task);
            begun = true;
        } finally {
            if (!begun) { // no memory for a thread
                remove(time);
                sweepAfter(System.nanoTime() + AGAIN_NS);
            }
        }
    }

    /** Needs no memory: else all later deadlines would rely on a sweep that has been, or will never be. */
    private synchronized void remove(Long time) {
        boolean unused = scheduled.remove(time);
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

    private void sweep(Long time) {
        remove(time);
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
