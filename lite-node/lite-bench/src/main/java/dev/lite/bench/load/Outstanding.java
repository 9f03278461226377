package dev.lite.bench.load;

import java.util.concurrent.Future;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Keeps a fixed number of asynchronous operations outstanding. Each step waits for the oldest one and starts another. */
public final class Outstanding implements Operation {
    private final IntFunction<Future<?>> start;
    private final @Nullable Future<?>[] futures;
    private final long[] beganNs;
    private int oldest;

    /** @param start starts an operation that may use what belongs to this slot, 0 to {@code count - 1} */
    public Outstanding(int count, IntFunction<Future<?>> start) {
        this.start = start;
        futures = new Future<?>[count];
        beganNs = new long[count];
    }

    @Override
    public void begin() {
        for (int slot = 0; slot < futures.length; slot++) {
            beganNs[slot] = System.nanoTime();
            futures[slot] = start.apply(slot);
        }
        oldest = 0;
    }

    @Override
    public long run(long nowNs) {
        int slot = oldest;
        await(futures[slot]);
        long began = beganNs[slot];
        beganNs[slot] = nowNs;
        futures[slot] = start.apply(slot);
        oldest = slot + 1 == futures.length ? 0 : slot + 1;
        return began;
    }

    @Override
    public void end() {
        for (int i = 0; i < futures.length; i++) {
            await(futures[i]);
        }
    }

    private static void await(@Nullable Future<?> future) {
        if (future == null) {
            return;
        }
        Asynchronous.await(future);
    }
}
