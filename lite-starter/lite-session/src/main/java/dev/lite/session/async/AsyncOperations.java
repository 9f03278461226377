package dev.lite.session.async;

import dev.lite.api.LiteTimeoutException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A session's operations that nobody waits for: those that may block each on a virtual thread, the others without one until they end.
 * Any thread.
 *
 * <p>Bound: {@code operationsMax} futures and virtual threads; who begins one more waits for one to end.
 */
public final class AsyncOperations {
    /** How many may be under way when nothing is configured. */
    public static final int OPERATIONS_DEFAULT = 1024;

    private final int operationsMax;
    private final Semaphore places;
    private final Set<Operation> underWay = ConcurrentHashMap.newKeySet();

    /**
     * @param operationsMax at least 1
     */
    public AsyncOperations(int operationsMax) {
        if (operationsMax < 1) {
            throw new IllegalArgumentException(
                    "%d asynchronous operations at once; at least 1 must be possible".formatted(operationsMax));
        }
        this.operationsMax = operationsMax;
        this.places = new Semaphore(operationsMax);
    }

    /** One that is under way: it has a place until it is ended. */
    public static final class Operation {
        private final CompletableFuture<@Nullable Void> future = new CompletableFuture<>();
        // What the caller does to its future does not end the operation; a fence waits for this one.
        private final CountDownLatch ended = new CountDownLatch(1);

        private Operation() {}

        /** Completed once, when the operation has ended; cancelling it does not end the operation. */
        public CompletableFuture<@Nullable Void> future() {
            return future;
        }
    }

    /**
     * Begins an operation on a virtual thread.
     *
     * @param operation blocks until it is done; what it throws completes the future
     * @param patience how long to wait for a place
     * @return {@link Operation#future}
     * @throws LiteTimeoutException when no place became free in time; nothing was begun then
     */
    public CompletableFuture<@Nullable Void> begin(Runnable operation, Duration patience) {
        Operation opened = open(patience);
        carryOut(opened, operation);
        return opened.future();
    }

    /**
     * Takes a place for an operation; {@link #carryOut} or {@link #end} follows.
     *
     * @param patience how long to wait for a place
     * @throws LiteTimeoutException when no place became free in time
     */
    public Operation open(Duration patience) {
        awaitPlace(patience);
        Operation opened = new Operation();
        underWay.add(opened);
        return opened;
    }

    /** Carries it out on a virtual thread. */
    public void carryOut(Operation opened, Runnable operation) {
        onThread(() -> {
            Throwable failure = null;
            try {
                operation.run();
            } catch (RuntimeException | Error e) {
                failure = e;
            }
            ended(opened, failure);
        });
    }

    /** It has ended without a thread of its own. Does not block: what hangs on the future runs on a virtual thread. */
    public void end(Operation opened, @Nullable Throwable failure) {
        onThread(() -> ended(opened, failure));
    }

    private static void onThread(Runnable body) {
        Thread unused = Thread.ofVirtual().name("lite-async").start(body);
    }

    private void ended(Operation opened, @Nullable Throwable failure) {
        places.release(); // first: what hangs on the future may begin the next
        if (failure == null) {
            opened.future.complete(null);
        } else {
            opened.future.completeExceptionally(failure);
        }
        opened.ended.countDown();
        underWay.remove(opened);
    }

    private void awaitPlace(Duration patience) {
        try {
            if (!places.tryAcquire(patience.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new LiteTimeoutException(
                        "%d asynchronous operations of this session are under way, its limit, for %s"
                                .formatted(operationsMax, patience));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LiteTimeoutException("interrupted while waiting to begin an asynchronous operation", e);
        }
    }

    /** See {@link dev.lite.api.LtMemory#fence}. */
    public void fence(Duration deadline) {
        Operation[] before = underWay.toArray(new Operation[0]);
        long endNs = System.nanoTime() + deadline.toNanos();
        try {
            for (Operation opened : before) {
                if (!opened.ended.await(endNs - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                    throw new LiteTimeoutException("fence: of %d asynchronous operations some have not ended within %s"
                            .formatted(before.length, deadline));
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LiteTimeoutException("interrupted in a fence", e);
        }
    }
}
