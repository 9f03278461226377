package dev.lite.demo.app;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Placement;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;

/** Measures single operations, one at a time, on an LMR on another node. */
final class Latencies {

    private static final int[] SIZES = {8, 64, 4 << 10, 64 << 10, 1 << 20};
    private static final int SAMPLES_MAX = 50_000;

    private final long timeNs;
    private final long[] samplesNs = new long[SAMPLES_MAX];
    private final Results results;
    private int rows;

    Latencies(Duration time, Results results) {
        this.timeNs = time.toNanos();
        this.results = results;
    }

    /** Measures everything, and checks that no atomic add was lost. */
    void measure(LtMemory memory, String node) {
        int bytesMax = SIZES[SIZES.length - 1];
        results.put("latency.node", node);
        try (LmrHandle lmr = memory.malloc(LmrSpec.of(bytesMax).withPlacement(Placement.on(node)));
                Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(bytesMax, 64);
            for (int size : SIZES) {
                MemorySegment slice = buffer.asSlice(0, size);
                row("read", size, () -> lmr.read(0, slice));
            }
            for (int size : SIZES) {
                MemorySegment slice = buffer.asSlice(0, size);
                row("write", size, () -> lmr.write(0, slice));
            }
            long before = lmr.fetchAdd(0, 0);
            long adds = row("fetchAdd", Long.BYTES, () -> lmr.fetchAdd(0, 1));
            results.compare("every one of %,d atomic adds counted".formatted(adds), before + adds, lmr.fetchAdd(0, 0));
            lmr.free();
        }
        results.put("latencies", rows);
    }

    private long row(String operation, int size, Runnable call) {
        Progress.print("store: measuring %s of %,d bytes".formatted(operation, size));
        int warmUps = run(call, timeNs / 2);
        int samples = run(call, timeNs);
        Arrays.sort(samplesNs, 0, samples);
        String key = "latency." + rows++;
        results.put(key + ".operation", operation);
        results.put(key + ".bytes", size);
        results.put(key + ".median-ns", samplesNs[samples / 2]);
        results.put(key + ".p99-ns", samplesNs[(int) (samples * 99L / 100)]);
        return (long) warmUps + samples;
    }

    /** Runs the call at least once, until the time is over or the sample buffer is full. */
    private int run(Runnable call, long limitNs) {
        int samples = 0;
        long startNs = System.nanoTime();
        long beforeNs = startNs;
        while (samples < SAMPLES_MAX && (samples == 0 || beforeNs - startNs < limitNs)) {
            call.run();
            long afterNs = System.nanoTime();
            samplesNs[samples++] = afterNs - beforeNs;
            beforeNs = afterNs;
        }
        return samples;
    }
}
