package dev.lite.client.async;

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
 * A session's operations that nobody waits for, each on a virtual thread. Any thread.
 *
 * <p>Bound: {@code operationsMax} futures and virtual threads; who begins one more waits for one to end.
 */
public final class AsyncOperations {
    /** How many may be under way when nothing is configured. */
    public static final int OPERATIONS_DEFAULT = 1024;

    private final int operationsMax;
    private final Semaphore places;
    private final Set<CountDownLatch> underWay = ConcurrentHashMap.newKeySet();

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

    /**
     * Begins an operation.
     *
     * @param operation blocks until it is done; what it throws completes the future
     * @param patience how long to wait for a place
     * @return completed once, when the operation has ended; cancelling it does not end the operation
     * @throws LiteTimeoutException when no place became free in time; nothing was begun then
     */
    public CompletableFuture<@Nullable Void> begin(Runnable operation, Duration patience) {
        awaitPlace(patience);
        CompletableFuture<@Nullable Void> future = new CompletableFuture<>();
        // What the caller does to its future does not end the operation; a fence waits for this one.
        CountDownLatch ended = new CountDownLatch(1);
        underWay.add(ended);
        Thread.ofVirtual().name("lite-async").start(() -> run(operation, future, ended));
        return future;
    }

    private void run(Runnable operation, CompletableFuture<@Nullable Void> future, CountDownLatch ended) {
        Throwable failure = null;
        try {
            operation.run();
        } catch (RuntimeException | Error e) {
            failure = e;
        }
        places.release(); // first: what hangs on the future may begin the next
        if (failure == null) {
            future.complete(null);
        } else {
            future.completeExceptionally(failure);
        }
        ended.countDown();
        underWay.remove(ended);
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
        CountDownLatch[] before = underWay.toArray(new CountDownLatch[0]);
        long endNs = System.nanoTime() + deadline.toNanos();
        try {
            for (CountDownLatch ended : before) {
                if (!ended.await(endNs - System.nanoTime(), TimeUnit.NANOSECONDS)) {
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
