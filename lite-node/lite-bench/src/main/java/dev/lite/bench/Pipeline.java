package dev.lite.bench;

import dev.lite.api.LmrHandle;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Keeps {@value #UNDER_WAY} asynchronous writes outstanding, as ib_write_bw does. */
final class Pipeline {
    static final int UNDER_WAY = 32;

    private static final long DEADLINE_S = 20;

    private Pipeline() {}

    /** Writes {@code n} times and waits for all writes. */
    static void write(LmrHandle handle, MemorySegment local, int n) {
        ArrayDeque<Future<?>> underWay = new ArrayDeque<>();
        for (int i = 0; i < n; i++) {
            if (underWay.size() == UNDER_WAY) {
                await(underWay.remove());
            }
            underWay.add(handle.writeAsync(0, local));
        }
        underWay.forEach(Pipeline::await);
    }

    private static void await(Future<?> future) {
        try {
            future.get(DEADLINE_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException("an asynchronous write failed", e);
        }
    }
}
