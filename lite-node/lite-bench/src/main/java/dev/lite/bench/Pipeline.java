package dev.lite.bench;

import dev.lite.api.LmrHandle;
import dev.lite.bench.load.Asynchronous;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.concurrent.Future;

/** Keeps {@value #UNDER_WAY} asynchronous writes outstanding, as ib_write_bw does. */
final class Pipeline {
    static final int UNDER_WAY = 32;

    private Pipeline() {}

    /** Writes {@code n} times and waits for all writes. */
    static void write(LmrHandle handle, MemorySegment local, int n) {
        ArrayDeque<Future<?>> underWay = new ArrayDeque<>();
        for (int i = 0; i < n; i++) {
            if (underWay.size() == UNDER_WAY) {
                Asynchronous.await(underWay.remove());
            }
            underWay.add(handle.writeAsync(0, local));
        }
        underWay.forEach(Asynchronous::await);
    }
}
