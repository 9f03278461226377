package dev.lite.bench;

import dev.lite.api.LmrHandle;
import dev.lite.bench.load.Asynchronous;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.concurrent.Future;
import java.util.function.Supplier;

/** Keeps {@value #UNDER_WAY} asynchronous operations outstanding, as ib_write_bw does. */
final class Pipeline {
    static final int UNDER_WAY = 32;

    private Pipeline() {}

    /** Writes {@code n} times and waits for all writes. */
    static void write(LmrHandle handle, MemorySegment local, int n) {
        run(n, () -> handle.writeAsync(0, local));
    }

    /** Reads {@code n} times and waits for all reads. */
    static void read(LmrHandle handle, MemorySegment local, int n) {
        run(n, () -> handle.readAsync(0, local));
    }

    private static void run(int n, Supplier<Future<?>> begin) {
        ArrayDeque<Future<?>> underWay = new ArrayDeque<>();
        for (int i = 0; i < n; i++) {
            if (underWay.size() == UNDER_WAY) {
                Asynchronous.await(underWay.remove());
            }
            underWay.add(begin.get());
        }
        underWay.forEach(Asynchronous::await);
    }
}
