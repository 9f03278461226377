package dev.lite.bench.load;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits for asynchronous operations. */
public final class Asynchronous {
    private static final long DEADLINE_S = 20;

    private Asynchronous() {}

    /**
     * Waits for the end of an operation.
     *
     * @throws IllegalStateException if it failed, did not end within {@value #DEADLINE_S} s, or the thread was interrupted
     */
    public static void await(Future<?> future) {
        try {
            future.get(DEADLINE_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException("an asynchronous operation failed", e);
        }
    }
}
