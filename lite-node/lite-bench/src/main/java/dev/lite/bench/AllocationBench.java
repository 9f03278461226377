package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.node.LiteNode;
import java.util.Arrays;

/**
 * malloc, map and free by LMR size (paper Fig. 8) with an embedded caller, compared with mapping the same amount of shared
 * memory, touching each page, and unmapping it. Each operation is timed alone, with clean memory available; the cleaner may
 * run between two operations.
 */
final class AllocationBench implements BenchMain.Benchmark {
    private static final long ARENA_BYTES = 1L << 30;
    private static final long[] BYTES = {4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
    private static final long PAGE_BYTES = 4096;
    private static final int ROUNDS_MAX = 400;
    private static final int ROUNDS_MIN = 11;
    private static final long ROUNDS_BYTES = 4L << 30;
    private static final long PAUSE_NS = 200_000;

    @Override
    public void run(BenchReport report) {
        report.note("raw: mmap of shared memory and a touch of each page (malloc), munmap (free), mmap alone (map)");
        try (BenchNodes nodes = new BenchNodes(1, ARENA_BYTES);
                Lite lite = nodes.attach(0);
                Lite other = nodes.attach(0)) {
            measure(4 << 10, nodes.node(0), lite.memory(), other.memory()); // warm-up
            for (long bytes : BYTES) {
                Times times = measure(bytes, nodes.node(0), lite.memory(), other.memory());
                report.add("malloc", bytes, "ns", median(times.malloc), median(times.mmapTouch));
                report.add("map", bytes, "ns", median(times.map), median(times.mmap));
                report.add("free", bytes, "ns", median(times.free), median(times.munmap));
            }
        }
    }

    private static final class Times {
        final double[] malloc;
        final double[] map;
        final double[] free;
        final double[] mmap;
        final double[] mmapTouch;
        final double[] munmap;

        Times(int rounds) {
            malloc = new double[rounds];
            map = new double[rounds];
            free = new double[rounds];
            mmap = new double[rounds];
            mmapTouch = new double[rounds];
            munmap = new double[rounds];
        }
    }

    private static Times measure(long bytes, LiteNode node, LtMemory memory, LtMemory other) {
        int rounds = Math.clamp(ROUNDS_BYTES / bytes, ROUNDS_MIN, ROUNDS_MAX);
        Times times = new Times(rounds);
        for (int round = 0; round < rounds; round++) {
            while (node.figures().usage().uncleanBytes() > 0) {
                Polling.sleepNs(PAUSE_NS);
            }
            long begin = System.nanoTime();
            LmrHandle handle = memory.malloc(LmrSpec.of(bytes).withDefaultPermissions(Permission.READ));
            long made = System.nanoTime();
            other.map(handle.id(), Permission.READ);
            long mapped = System.nanoTime();
            handle.free();
            long freed = System.nanoTime();
            times.malloc[round] = made - begin;
            times.map[round] = mapped - made;
            times.free[round] = freed - mapped;
            raw(bytes, times, round);
        }
        return times;
    }

    private static void raw(long bytes, Times times, int round) {
        long begin = System.nanoTime();
        SharedMemory memory = SharedMemory.createMemfd("bench", bytes);
        long mapped = System.nanoTime();
        for (long at = 0; at < bytes; at += PAGE_BYTES) {
            RawMemory.putByte(memory.address() + at, (byte) 1);
        }
        long touched = System.nanoTime();
        memory.close();
        times.mmap[round] = mapped - begin;
        times.mmapTouch[round] = touched - begin;
        times.munmap[round] = System.nanoTime() - touched;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
