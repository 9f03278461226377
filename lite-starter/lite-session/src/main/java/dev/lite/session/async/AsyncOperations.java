package dev.lite.session.async;

import dev.lite.api.LiteTimeoutException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Polling;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous operations of a session. An operation that may block runs on a virtual thread of its own; others need a thread only
 * when they end. Any thread.
 *
 * <p>Bound: {@code operationsMax} operations, each with a future and at most one virtual thread. Starting another one waits until one
 * has ended.
 */
public final class AsyncOperations {
    /** The default limit of operations under way. */
    public static final int OPERATIONS_DEFAULT = 1024;

    private static final long COMPLETED_POLL_NS = 20_000;

    private final int operationsMax;
    private final Semaphore permits;
    private final Set<Operation> underWay;
    private final HelpedFutures futures;

    /**
     * Creates the limit for one session.
     *
     * @param operationsMax at least 1
     * @param futures the futures of its operations
     */
    public AsyncOperations(int operationsMax, HelpedFutures futures) {
        this(operationsMax, futures, ConcurrentHashMap.newKeySet());
    }

    /** @param underWay empty; concurrent */
    AsyncOperations(int operationsMax, HelpedFutures futures, Set<Operation> underWay) {
        if (operationsMax < 1) {
            throw new IllegalArgumentException(
                    "the limit of asynchronous operations is %d; it must be at least 1".formatted(operationsMax));
        }
        this.operationsMax = operationsMax;
        this.permits = new Semaphore(operationsMax);
        this.futures = futures;
        this.underWay = underWay;
    }

    /** A future whose waiting threads help. */
    public <T extends @Nullable Object> CompletableFuture<T> newFuture() {
        return futures.newFuture();
    }

    /** An operation under way. It counts towards the limit until it has ended. */
    public final class Operation {
        private final CompletableFuture<@Nullable Void> future;
        // A fence waits for this latch, because a caller can complete or cancel the future.
        private final CountDownLatch ended = new CountDownLatch(1);

        /**
         * The thread that opened the operation, until it gets the future. Only that thread writes this field. Others
         * compare it with themselves, so they need no order.
         */
        private @Nullable Thread opener = Thread.currentThread();

        /** Why it failed, or null. Written before the operation is handed to the thread that completes the future. */
        private @Nullable Throwable failure;

        /** Made before it begins: there may be no memory at its end. */
        private final Runnable ending;

        private Operation(CompletableFuture<@Nullable Void> future) {
            this.future = future;
            this.ending = () -> ended(this);
        }

        /**
         * Completes once, when the operation has ended. Cancelling it does not stop the operation. The thread that
         * opened the operation calls this, after the start.
         */
        public CompletableFuture<@Nullable Void> future() {
            opener = null;
            return future;
        }
    }

    /**
     * Starts an operation on a virtual thread.
     *
     * @param operation blocks until it is done; what it throws completes the future
     * @param timeout how long to wait while the limit is reached
     * @return {@link Operation#future}
     * @throws LiteTimeoutException when the limit was reached for that long; nothing was started
     */
    public CompletableFuture<@Nullable Void> begin(Runnable operation, Duration timeout) {
        Operation opened = open(timeout);
        run(opened, operation);
        return opened.future();
    }

    /**
     * Counts a new operation; {@link #run} or {@link #end} must follow. If this throws, nothing is counted.
     *
     * @param timeout how long to wait while the limit is reached
     * @throws LiteTimeoutException when the limit was reached for that long
     */
    public Operation open(Duration timeout) {
        Operation opened = new Operation(newFuture()); // first: there may be no memory for it
        acquirePermit(timeout);
        boolean added = false;
        try {
            added = underWay.add(opened);
        } finally {
            if (!added) { // likewise
                underWay.remove(opened);
                permits.release();
            }
        }
        return opened;
    }

    /** {@link HelpedFutures#isFollowed}. */
    public boolean isFollowed() {
        return futures.isFollowed();
    }

    /** Runs the operation on a virtual thread and ends it. If there is no memory for a thread, the operation ends with that failure. */
    public void run(Operation opened, Runnable operation) {
        try {
            futures.onThread(() -> {
                try {
                    operation.run();
                } catch (RuntimeException | Error e) {
                    opened.failure = e;
                }
                ended(opened);
            });
        } catch (RuntimeException | Error e) {
            end(opened, e, false);
        }
    }

    /**
     * Ends an operation that ran without a thread of its own. Does not block: stages that depend on it run on a virtual thread.
     *
     * @param helping whether this thread came from {@link WaitingHelp}
     */
    public void end(Operation opened, @Nullable Throwable failure, boolean helping) {
        opened.failure = failure;
        // While the opening thread has not got the future, nothing depends on it.
        boolean here = opened.opener == Thread.currentThread();
        futures.complete(opened.future, opened.ending, helping || here);
    }

    /**
     * Completes a future of {@link #newFuture}. Does not block: stages that depend on it run on a virtual thread.
     *
     * @param completion completes the future
     * @param helping whether this thread came from {@link WaitingHelp}
     */
    public void complete(CompletableFuture<?> future, Runnable completion, boolean helping) {
        futures.complete(future, completion, helping);
    }

    private void ended(Operation opened) {
        // Both first: a dependent stage may start the next operation, or call a fence.
        permits.release();
        opened.ended.countDown();
        Throwable failure = opened.failure;
        if (failure == null) {
            opened.future.complete(null);
        } else {
            opened.future.completeExceptionally(failure);
        }
        underWay.remove(opened);
    }

    private void acquirePermit(Duration timeout) {
        if (!Deadline.awaitPermits(permits, 1, Deadline.in(timeout).endNs())) {
            throw new LiteTimeoutException("this session had %d asynchronous operations under way, its limit, for %s"
                    .formatted(operationsMax, Durations.text(timeout)));
        }
    }

    /** Waits for the operations that were started before this call, also if it is interrupted; see {@link dev.lite.api.LtMemory#fence}. */
    public void fence(Duration deadline) {
        Deadline until = Deadline.in(deadline);
        Operation[] before = underWay.toArray(new Operation[0]);
        for (Operation opened : before) {
            if (!hasEnded(opened, until)
                    // At once: its thread completes the future next, and then runs the stages, which may take long.
                    || !Polling.until(opened.future::isDone, until, COMPLETED_POLL_NS)) {
                String some = before.length == 1
                        ? "an asynchronous operation"
                        : "some of %d asynchronous operations".formatted(before.length);
                throw new LiteTimeoutException(
                        "fence: %s had not ended within %s".formatted(some, Durations.text(deadline)));
            }
        }
    }

    /** Waits for the end of an operation; false at the deadline. An interrupt does not end the wait; it is kept. */
    private static boolean hasEnded(Operation opened, Deadline until) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return opened.ended.await(until.remainingNs(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException kept) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
