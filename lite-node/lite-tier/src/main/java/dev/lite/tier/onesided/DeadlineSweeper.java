package dev.lite.tier.onesided;

import dev.lite.os.waiting.Deadline;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * Ends asynchronous transfers after their deadline. One sweep over all buffers follows the earliest deadline, however
 * many transfers are in flight. Any thread.
 */
final class DeadlineSweeper {
    private static final long NONE = Long.MIN_VALUE;
    /** The delay of a sweep after a deadline, so that it covers other deadlines of about the same time. */
    private static final long LATER_NS = 1_000_000;

    private final BounceBuffers buffers;
    private final Function<PendingTransfer, RuntimeException> failure;

    /** The time of the next sweep, by {@link System#nanoTime}. */
    private final AtomicLong nextNs = new AtomicLong(NONE);

    /** @param failure the exception of a transfer whose deadline has passed */
    DeadlineSweeper(BounceBuffers buffers, Function<PendingTransfer, RuntimeException> failure) {
        this.buffers = buffers;
        this.failure = failure;
    }

    /** Schedules a sweep after the deadline. Does not block. */
    void sweepAfter(Deadline deadline) {
        long endNs = deadline.endNs();
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
        for (BounceBuffer buffer : buffers.all()) {
            PendingTransfer pending = buffer.pending;
            if (pending == null) {
                continue;
            }
            if (!pending.deadline.passed()) {
                sweepAfter(pending.deadline);
            } else if (pending.claim()) {
                pending.ended.accept(failure.apply(pending));
            }
        }
    }
}
