package dev.lite.tier.onesided;

import dev.lite.os.waiting.Deadline;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * Ends what nobody waits for when its deadline has passed: one look at all buffers after the earliest deadline, however many are
 * under way. Any thread.
 */
final class LateLook {
    private static final long NONE = Long.MIN_VALUE;
    /** After a deadline; those of the same time are seen together. */
    private static final long LATER_NS = 1_000_000;

    private final BounceBuffers buffers;
    private final Function<Begun, RuntimeException> failure;

    /** When the next look is; of {@link System#nanoTime}. */
    private final AtomicLong nextNs = new AtomicLong(NONE);

    /** @param failure what to tell the one who began what is late */
    LateLook(BounceBuffers buffers, Function<Begun, RuntimeException> failure) {
        this.buffers = buffers;
        this.failure = failure;
    }

    /** Makes sure that somebody looks when the deadline has passed. Does not block. */
    void lookAfter(Deadline deadline) {
        long endNs = deadline.endNs();
        long next = nextNs.get();
        while (next == NONE || endNs - next < 0) {
            if (nextNs.compareAndSet(next, endNs)) {
                long inNs = endNs - System.nanoTime() + LATER_NS;
                CompletableFuture.delayedExecutor(Math.max(0, inNs), TimeUnit.NANOSECONDS, Thread.ofVirtual()::start)
                        .execute(this::look);
                return;
            }
            next = nextNs.get();
        }
    }

    private void look() {
        nextNs.set(NONE);
        for (BounceBuffer buffer : buffers.all()) {
            Begun begun = buffer.begun;
            if (begun == null) {
                continue;
            }
            if (!begun.deadline.passed()) {
                lookAfter(begun.deadline);
            } else if (begun.claim()) {
                begun.ended.accept(failure.apply(begun));
            }
        }
    }
}
