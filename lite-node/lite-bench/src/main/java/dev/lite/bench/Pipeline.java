package dev.lite.bench;

import dev.lite.api.LmrHandle;
import dev.lite.api.RpcClient;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** Keeps {@value #UNDER_WAY} asynchronous operations outstanding, as ib_write_bw does. */
final class Pipeline {
    static final int UNDER_WAY = 32;

    private static final long DEADLINE_S = 20;

    private Pipeline() {}

    /** Writes {@code n} times and waits for all writes. */
    static void write(LmrHandle handle, MemorySegment local, int n) {
        run(() -> handle.writeAsync(0, local), n);
    }

    /** Reads {@code n} times and waits for all reads. */
    static void read(LmrHandle handle, MemorySegment local, int n) {
        run(() -> handle.readAsync(0, local), n);
    }

    /** Calls {@code n} times and waits for all replies. */
    static void call(RpcClient client, byte[] request, Duration deadline, int n) {
        run(() -> client.callAsync(request, deadline), n);
    }

    private static void run(Supplier<Future<?>> operation, int n) {
        ArrayDeque<Future<?>> underWay = new ArrayDeque<>();
        for (int i = 0; i < n; i++) {
            if (underWay.size() == UNDER_WAY) {
                await(underWay.remove());
            }
            underWay.add(operation.get());
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
            throw new IllegalStateException("an asynchronous operation failed", e);
        }
    }
}
