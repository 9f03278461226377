package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Placement;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory operations by size (paper Fig. 17), with an embedded caller on one of three nodes connected by shared memory.
 * {@code memset} is compared with a write of as many bytes; {@code memcpy} within another node and between two other nodes,
 * with a read and a write by the caller; {@code memmove} by one byte, with the JDK's copy of overlapping memory.
 */
final class MemoryOpsBench implements BenchMain.Benchmark {
    private static final long ARENA_BYTES = 64L << 20;
    private static final int SIZE = 8 << 20;
    private static final int[] BYTES = {1 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20};

    @Override
    public void run(BenchReport report) {
        try (BenchNodes nodes = new BenchNodes(3, ARENA_BYTES);
                Lite lite = nodes.attach(0);
                Arena scope = Arena.ofConfined()) {
            LtMemory memory = lite.memory();
            LmrHandle one = memory.malloc(LmrSpec.of(SIZE).withPlacement(Placement.on("node-1")));
            LmrHandle same = memory.malloc(LmrSpec.of(SIZE).withPlacement(Placement.on("node-1")));
            LmrHandle other = memory.malloc(LmrSpec.of(SIZE).withPlacement(Placement.on("node-2")));
            LmrHandle mine = memory.malloc(LmrSpec.of(SIZE));
            for (int bytes : BYTES) {
                MemorySegment local = scope.allocate(bytes, 64);
                report(report, "memset", bytes, n -> memset(one, bytes, n), n -> write(one, local, n));
                report(report, "memset-local", bytes, n -> memset(mine, bytes, n), n -> write(mine, local, n));
                report(
                        report,
                        "memcpy-within-a-node",
                        bytes,
                        n -> copy(memory, one, same, bytes, n),
                        n -> readWrite(one, same, local, n));
                report(
                        report,
                        "memcpy-between-nodes",
                        bytes,
                        n -> copy(memory, one, other, bytes, n),
                        n -> readWrite(one, other, local, n));
                MemorySegment both = scope.allocate(bytes + 1L, 64);
                report(report, "memmove-by-one", bytes, n -> move(memory, one, bytes, n), n -> rawMove(both, bytes, n));
            }
        }
    }

    private static void report(
            BenchReport report, String name, int bytes, Comparison.Batch ours, Comparison.Batch raw) {
        Comparison.Result result = Comparison.measure(ours, raw);
        report.add(name, bytes, "ns", result.oursNs(), result.rawNs());
    }

    private static void memset(LmrHandle handle, int bytes, int n) {
        for (int i = 0; i < n; i++) {
            handle.memset(0, bytes, (byte) i);
        }
    }

    private static void write(LmrHandle handle, MemorySegment local, int n) {
        for (int i = 0; i < n; i++) {
            handle.write(0, local);
        }
    }

    private static void copy(LtMemory memory, LmrHandle from, LmrHandle to, int bytes, int n) {
        for (int i = 0; i < n; i++) {
            memory.memcpy(from, 0, to, 0, bytes);
        }
    }

    private static void readWrite(LmrHandle from, LmrHandle to, MemorySegment local, int n) {
        for (int i = 0; i < n; i++) {
            from.read(0, local);
            to.write(0, local);
        }
    }

    private static void move(LtMemory memory, LmrHandle handle, int bytes, int n) {
        for (int i = 0; i < n; i++) {
            memory.memmove(handle, 0, handle, 1, bytes);
        }
    }

    private static void rawMove(MemorySegment both, int bytes, int n) {
        for (int i = 0; i < n; i++) {
            MemorySegment.copy(both, 0, both, 1, bytes);
        }
    }
}
