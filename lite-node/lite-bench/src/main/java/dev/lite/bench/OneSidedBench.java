package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.SharedMemory;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Reads and writes through a handle against the raw copy of the same bytes (paper Fig. 4–6, without the network): with an
 * embedded caller on one of four nodes connected by shared memory; the LMRs are on another node, whose arena is mapped
 * here.
 *
 * <p>The raw counterpart is one {@link MemorySegment#copy} between a native segment and a second mapping of the same arena
 * file, without a liveness check (global scope) and with the JDK's bounds check. For many LMRs it has only a table of their
 * offsets; {@code -vs-segments} instead has one segment object for each LMR, like a handle.
 */
final class OneSidedBench implements BenchMain.Benchmark {
    private static final long SEED = 20171028;
    private static final int NODES = 4;
    private static final long ARENA_BYTES = 768L << 20;
    private static final long WINDOW_BYTES = 4L << 20;
    private static final int PATTERN = 1 << 16;

    @Override
    public void run(BenchReport report) {
        Path root = BenchNodes.makeTemporary(Path.of("/dev/shm"));
        Path sockets = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
        List<LiteNode> nodes = new ArrayList<>();
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        try {
            for (int index = 0; index < NODES; index++) {
                LiteNodeConfig config = LiteNodeConfig.builder(
                                "bench", "node-" + index, ARENA_BYTES, sockets.resolve("n" + index))
                        .arena(root, false)
                        .build();
                nodes.add(LiteNode.start(config, store.open(), List.of(new ShmFabricProvider())));
            }
            try (Lite lite = nodes.getFirst().attach("bench");
                    SharedMemory arena = SharedMemory.openFile(
                            root.resolve("bench").resolve("node-1").resolve("arena"))) {
                oneExtent(report, lite, arena);
                extents(report, lite, arena);
                for (int lmrs : new int[] {1, 100, 10_000, 100_000}) {
                    manyLmrs(report, lite, arena, lmrs);
                }
            }
        } finally {
            nodes.forEach(LiteNode::close);
            BenchNodes.delete(root);
            BenchNodes.delete(sockets);
        }
    }

    private static void oneExtent(BenchReport report, Lite lite, SharedMemory arena) {
        try (Arena scope = Arena.ofConfined();
                LmrHandle handle =
                        lite.memory().malloc(LmrSpec.of(WINDOW_BYTES).withPlacement(Placement.on("node-1")))) {
            long base = rawOffset(handle);
            MemorySegment raw = unchecked(arena);
            for (int bytes : new int[] {8, 64, 512, 4096, 64 << 10, 1 << 20}) {
                MemorySegment local = scope.allocate(bytes, 64).reinterpret(bytes);
                long[] offsets = offsets(bytes, WINDOW_BYTES);
                Comparison.Result read = Comparison.measure(
                        n -> read(handle, offsets, local, n), n -> rawRead(raw, base, offsets, local, bytes, n));
                report.add("read", bytes, "ns", read.oursNs(), read.rawNs());
                Comparison.Result write = Comparison.measure(
                        n -> write(handle, offsets, local, n), n -> rawWrite(raw, base, offsets, local, bytes, n));
                report.add("write", bytes, "ns", write.oursNs(), write.rawNs());
            }
        }
    }

    private static void extents(BenchReport report, Lite lite, SharedMemory arena) {
        int bytes = 1 << 20;
        long[] offsets = {0};
        MemorySegment raw = unchecked(arena);
        try (Arena scope = Arena.ofConfined();
                LmrHandle one = lite.memory().malloc(LmrSpec.of(bytes).withPlacement(Placement.on("node-1")));
                LmrHandle four = lite.memory().malloc(LmrSpec.of(bytes).withPlacement(Placement.spread()))) {
            MemorySegment local = scope.allocate(bytes, 64);
            long base = rawOffset(one);
            Comparison.Result read = Comparison.measure(
                    n -> read(four, offsets, local, n), n -> rawRead(raw, base, offsets, local, bytes, n));
            report.add("read-%d-extents".formatted(four.extents().size()), bytes, "ns", read.oursNs(), read.rawNs());
            Comparison.Result write = Comparison.measure(
                    n -> write(four, offsets, local, n), n -> rawWrite(raw, base, offsets, local, bytes, n));
            report.add("write-%d-extents".formatted(four.extents().size()), bytes, "ns", write.oursNs(), write.rawNs());
            Comparison.Result against =
                    Comparison.measure(n -> read(four, offsets, local, n), n -> read(one, offsets, local, n));
            report.add("read-extents-vs-one-extent", bytes, "ns", against.oursNs(), against.rawNs());
        }
    }

    private static void manyLmrs(BenchReport report, Lite lite, SharedMemory arena, int count) {
        int bytes = 64;
        LmrHandle[] handles = new LmrHandle[count];
        long[] bases = new long[count];
        for (int index = 0; index < count; index++) {
            handles[index] = lite.memory().malloc(LmrSpec.of(4096).withPlacement(Placement.on("node-1")));
            bases[index] = rawOffset(handles[index]);
        }
        Random random = new Random(SEED);
        int[] order = random.ints(PATTERN, 0, count).toArray();
        MemorySegment raw = unchecked(arena);
        try (Arena scope = Arena.ofConfined()) {
            MemorySegment local = scope.allocate(bytes, 64);
            Comparison.Result write = Comparison.measure(
                    n -> writeMany(handles, order, local, n), n -> rawWriteMany(raw, bases, order, local, n));
            report.add("write-random-of-%d-lmrs".formatted(count), bytes, "ns", write.oursNs(), write.rawNs());
            MemorySegment[] segments = Arrays.stream(bases)
                    .mapToObj(base -> raw.asSlice(base, 4096))
                    .toArray(MemorySegment[]::new);
            Comparison.Result checked = Comparison.measure(
                    n -> writeMany(handles, order, local, n), n -> segmentWriteMany(segments, order, local, n));
            report.add(
                    "write-random-of-%d-lmrs-vs-segments".formatted(count),
                    bytes,
                    "ns",
                    checked.oursNs(),
                    checked.rawNs());
        }
        for (LmrHandle handle : handles) {
            handle.free();
        }
    }

    private static void read(LmrHandle handle, long[] offsets, MemorySegment local, int n) {
        for (int i = 0; i < n; i++) {
            handle.read(offsets[i & (offsets.length - 1)], local);
        }
    }

    private static void write(LmrHandle handle, long[] offsets, MemorySegment local, int n) {
        for (int i = 0; i < n; i++) {
            handle.write(offsets[i & (offsets.length - 1)], local);
        }
    }

    private static void rawRead(
            MemorySegment arena, long base, long[] offsets, MemorySegment local, long bytes, int n) {
        for (int i = 0; i < n; i++) {
            MemorySegment.copy(arena, base + offsets[i & (offsets.length - 1)], local, 0, bytes);
        }
    }

    private static void rawWrite(
            MemorySegment arena, long base, long[] offsets, MemorySegment local, long bytes, int n) {
        for (int i = 0; i < n; i++) {
            MemorySegment.copy(local, 0, arena, base + offsets[i & (offsets.length - 1)], bytes);
        }
    }

    private static void writeMany(LmrHandle[] handles, int[] order, MemorySegment local, int n) {
        for (int i = 0; i < n; i++) {
            handles[order[i & (PATTERN - 1)]].write(0, local);
        }
    }

    private static void rawWriteMany(MemorySegment arena, long[] bases, int[] order, MemorySegment local, int n) {
        long bytes = local.byteSize();
        for (int i = 0; i < n; i++) {
            MemorySegment.copy(local, 0, arena, bases[order[i & (PATTERN - 1)]], bytes);
        }
    }

    /** The counterpart with a segment object and a bounds check for each LMR. */
    private static void segmentWriteMany(MemorySegment[] segments, int[] order, MemorySegment local, int n) {
        long bytes = local.byteSize();
        for (int i = 0; i < n; i++) {
            MemorySegment.copy(local, 0, segments[order[i & (PATTERN - 1)]], 0, bytes);
        }
    }

    /** Random offsets, multiples of the size; their number is a power of two. */
    private static long[] offsets(int bytes, long window) {
        Random random = new Random(SEED);
        // For small sizes the window fits the L2 cache, to measure the code path rather than the memory.
        long places = Math.max(1, Math.min(window, Math.max(128 << 10, bytes)) / bytes);
        return random.longs(1024, 0, places).map(place -> place * bytes).toArray();
    }

    private static long rawOffset(LmrHandle handle) {
        return ((Mapping) handle).lmr().shares().getFirst().runs().getFirst().offset();
    }

    private static MemorySegment unchecked(SharedMemory arena) {
        return MemorySegment.ofAddress(arena.address()).reinterpret(arena.size());
    }
}
