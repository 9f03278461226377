package dev.lite.bench;

import com.sun.management.ThreadMXBean;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.api.RpcClient;
import dev.lite.fabric.FabricProvider;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * Two node processes on one machine, connected through its RDMA device (paper Fig. 4, 6, 7 and 10): an embedded caller on
 * one node, the LMRs on the other. The raw counterparts are the driver's post and poll without the tier, perftest on the
 * same device, and the tier over TCP between the same two processes.
 *
 * <p>{@code -Dlite.bench.rdma.parts=} selects some of {@value #LATENCY}, {@value #THROUGHPUT}, {@value #RPC}, {@value
 * #LMRS}, {@value #MANY}; default: all. {@code -Dlite.bench.rdma.bytes=} sets the sizes of the first; {@code
 * -Dlite.bench.rdma.lmrs=} and {@code -Dlite.bench.rdma.operations=} reduce the last two.
 */
final class RdmaBench implements BenchMain.Benchmark {
    private static final String LATENCY = "latency";
    private static final String THROUGHPUT = "throughput";
    private static final String RPC = "rpc";
    private static final String LMRS = "lmrs";
    private static final String MANY = "many";
    private static final List<String> PARTS =
            Arrays.asList(System.getProperty("lite.bench.rdma.parts", "latency,throughput,rpc,lmrs,many")
                    .split(",", -1));

    private static final int[] BYTES = Arrays.stream(System.getProperty("lite.bench.rdma.bytes", "8,64,512,4096,65536")
                    .split(",", -1))
            .mapToInt(Integer::parseInt)
            .toArray();
    private static final int BYTES_MAX = Arrays.stream(BYTES).max().orElseThrow();
    /** In consecutive measurements the ratio to the bare driver was 3, then 1.6, and 1.0 after about fifteen seconds. */
    private static final int WARM_UPS = 8;

    private static final int[] CALL_BYTES = {8, 64, 512, 4096};
    private static final int PERFTEST_ITERATIONS = 1000;
    private static final int THROUGHPUT_BYTES = 40 << 20;
    private static final int THROUGHPUT_ROUNDS = 5;
    /** More code than in one-sided operations that block, so the compiler takes longer. */
    private static final int THROUGHPUT_WARM_UPS = 2;

    private static final int LMR_COUNT = Integer.getInteger("lite.bench.rdma.lmrs", 100_000);
    private static final int LMR_BYTES = 2048;
    private static final int OPERATIONS = Integer.getInteger("lite.bench.rdma.operations", 1_000_000);
    private static final int OPERATIONS_WARM_UP = OPERATIONS / 10;
    private static final long OPERATIONS_NS_MAX = TimeUnit.MINUTES.toNanos(5);
    private static final double NS_TO_MB_PER_S = 1_000;
    private static final Path CLOCK = Path.of("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    @Override
    public void run(BenchReport report) {
        FabricProvider provider = RdmaPeer.provider("rdma");
        Optional<String> unavailable = provider.unavailable();
        if (unavailable.isPresent()) {
            report.note("no rows: the RDMA fabric is not available here: " + unavailable.get());
            return;
        }
        report.note("clock: %s (unless it is tsc, reading the clock is a system call or worse)".formatted(clock()));
        try (RdmaPeer peer = RdmaPeer.start()) {
            try (Lite rdma = peer.node("rdma").attach("bench");
                    Lite tcp = peer.node("tcp").attach("bench");
                    BarePosts bare = BarePosts.connect(provider, peer.bareAddress())) {
                if (PARTS.contains(LATENCY)) {
                    latency(report, rdma, tcp, bare);
                }
                if (PARTS.contains(THROUGHPUT)) {
                    throughput(report, rdma, tcp);
                }
                if (PARTS.contains(RPC)) {
                    rpc(report, rdma, tcp);
                }
            }
            try (Lite rdma = peer.node("rdma").attach("bench")) {
                if (PARTS.contains(LMRS)) {
                    manyLmrs(report, rdma);
                }
                if (PARTS.contains(MANY)) {
                    manyOperations(report, rdma);
                }
            }
        }
    }

    private static String clock() {
        try {
            return Files.readString(CLOCK).strip();
        } catch (IOException e) {
            return "unknown";
        }
    }

    private static LmrHandle window(Lite lite) {
        return lite.memory().malloc(LmrSpec.of(1 << 20).withPlacement(Placement.on(RdmaPeer.NAME)));
    }

    private static void latency(BenchReport report, Lite rdma, Lite tcp, BarePosts bare) {
        report.note(
                "-bare: the driver's post and poll; -perftest: ib_write_bw with one write at a time, ib_read_lat; -tcp: the tier");
        report.note(
                "ib_write_lat waits for a write of the other side and reports half of the time, so it is not comparable with a whole write");
        try (Arena scope = Arena.ofConfined();
                LmrHandle handle = window(rdma);
                LmrHandle overTcp = window(tcp)) {
            MemorySegment local = scope.allocate(BYTES_MAX, 64);
            warmUp(n -> write(handle, local.asSlice(0, 8), n), n -> bare.write(8, n));
            warmUp(n -> read(handle, local.asSlice(0, 8), n), n -> bare.read(8, n));
            double[] writeNs = new double[BYTES.length];
            double[] readNs = new double[BYTES.length];
            // One after the other: all share one processor, and earlier code may still be compiling or ending.
            for (int i = 0; i < BYTES.length; i++) {
                int bytes = BYTES[i];
                MemorySegment data = local.asSlice(0, bytes);
                Comparison.Result write = Comparison.measure(n -> write(handle, data, n), n -> bare.write(bytes, n));
                report.add("write-bare", bytes, "ns", write.oursNs(), write.rawNs());
                Comparison.Result read = Comparison.measure(n -> read(handle, data, n), n -> bare.read(bytes, n));
                report.add("read-bare", bytes, "ns", read.oursNs(), read.rawNs());
                writeNs[i] = write.oursNs();
                readNs[i] = read.oursNs();
            }
            for (int i = 0; i < BYTES.length; i++) {
                addPerftest(
                        report,
                        "write-perftest",
                        BYTES[i],
                        writeNs[i],
                        Perftest.writeNs(BYTES[i], PERFTEST_ITERATIONS));
                addPerftest(
                        report, "read-perftest", BYTES[i], readNs[i], Perftest.readNs(BYTES[i], PERFTEST_ITERATIONS));
            }
            warmUp(n -> write(overTcp, local.asSlice(0, 8), n), n -> read(overTcp, local.asSlice(0, 8), n));
            for (int bytes : BYTES) {
                MemorySegment data = local.asSlice(0, bytes);
                Comparison.Result write = Comparison.measure(n -> write(handle, data, n), n -> write(overTcp, data, n));
                report.add("write-tcp", bytes, "ns", write.oursNs(), write.rawNs());
                Comparison.Result read = Comparison.measure(n -> read(handle, data, n), n -> read(overTcp, data, n));
                report.add("read-tcp", bytes, "ns", read.oursNs(), read.rawNs());
            }
        }
    }

    /** On an emulated processor the compiler takes long. */
    private static void warmUp(Comparison.Batch one, Comparison.Batch other) {
        for (int round = 0; round < WARM_UPS; round++) {
            Comparison.Result unused = Comparison.measure(one, other);
        }
    }

    private static void addPerftest(BenchReport report, String name, int bytes, double oursNs, OptionalDouble rawNs) {
        if (rawNs.isPresent()) {
            report.add(name, bytes, "ns", oursNs, rawNs.getAsDouble());
        } else {
            report.note("no row \"%s\" of %d bytes: %s".formatted(name, bytes, Perftest.failure()));
        }
    }

    private static void write(LmrHandle handle, MemorySegment local, int n) {
        for (int i = 0; i < n; i++) {
            handle.write(0, local);
        }
    }

    private static void read(LmrHandle handle, MemorySegment local, int n) {
        for (int i = 0; i < n; i++) {
            handle.read(0, local);
        }
    }

    /** Several operations outstanding at a time, as in ib_write_bw and ib_read_bw. */
    private static void throughput(BenchReport report, Lite rdma, Lite tcp) {
        report.note("%d asynchronous operations outstanding; -perftest: ib_write_bw, ib_read_bw; -tcp: the tier"
                .formatted(Pipeline.UNDER_WAY));
        try (Arena scope = Arena.ofShared();
                LmrHandle handle = window(rdma);
                LmrHandle overTcp = window(tcp)) {
            MemorySegment first = scope.allocate(4096, 64);
            for (int part = 0; part < THROUGHPUT_WARM_UPS; part++) {
                warmUp(n -> Pipeline.write(handle, first, n), n -> Pipeline.read(handle, first, n));
            }
            for (int bytes : new int[] {4096, 64 << 10}) {
                MemorySegment local = scope.allocate(bytes, 64);
                throughput(report, "write", bytes, n -> Pipeline.write(handle, local, n));
                throughput(report, "read", bytes, n -> Pipeline.read(handle, local, n));
                Comparison.Result result = Comparison.measureLong(
                        n -> Pipeline.write(handle, local, n), n -> Pipeline.write(overTcp, local, n));
                report.add(
                        "write-throughput-tcp",
                        bytes,
                        "MB/s",
                        bytes * NS_TO_MB_PER_S / result.oursNs(),
                        bytes * NS_TO_MB_PER_S / result.rawNs());
            }
        }
    }

    /** Runs as many operations as perftest, alternately with it. */
    private static void throughput(BenchReport report, String operation, int bytes, Comparison.Batch batch) {
        String program = "ib_%s_bw".formatted(operation);
        int iterations = THROUGHPUT_BYTES / bytes;
        double[] ours = new double[THROUGHPUT_ROUNDS];
        double[] raw = new double[THROUGHPUT_ROUNDS];
        for (int round = 0; round < THROUGHPUT_ROUNDS; round++) {
            OptionalDouble perftest = Perftest.megabytesPerSecond(program, bytes, iterations);
            if (perftest.isEmpty()) {
                report.note("no row \"%s-throughput-perftest\": %s".formatted(operation, Perftest.failure()));
                return;
            }
            raw[round] = perftest.getAsDouble();
            ours[round] = bytes * NS_TO_MB_PER_S / Comparison.time(batch, iterations);
        }
        report.add(operation + "-throughput-perftest", bytes, "MB/s", Comparison.median(ours), Comparison.median(raw));
    }

    /** Calls by reply size, compared with two writes of as many bytes, and with calls over TCP (paper Fig. 10). */
    private static void rpc(BenchReport report, Lite rdma, Lite tcp) {
        RpcClient client = rdma.rpc().bind(RdmaPeer.NAME, RdmaPeer.FUNCTION);
        RpcClient overTcp = tcp.rpc().bind(RdmaPeer.NAME, RdmaPeer.FUNCTION);
        try (Arena scope = Arena.ofConfined();
                LmrHandle handle = window(rdma)) {
            for (int bytes : CALL_BYTES) {
                MemorySegment request = scope.allocate(8, 8);
                request.set(ValueLayout.JAVA_INT, 0, bytes);
                MemorySegment reply = scope.allocate(bytes, 64);
                Comparison.Result writes =
                        Comparison.measure(n -> call(client, request, reply, n), n -> write(handle, reply, 2 * n));
                report.add("rpc-two-writes", bytes, "ns", writes.oursNs(), writes.rawNs());
                Comparison.Result calls =
                        Comparison.measure(n -> call(client, request, reply, n), n -> call(overTcp, request, reply, n));
                report.add("rpc-tcp", bytes, "ns", calls.oursNs(), calls.rawNs());
            }
        }
    }

    private static void call(RpcClient client, MemorySegment request, MemorySegment reply, int n) {
        for (int i = 0; i < n; i++) {
            client.call(request, reply, DEADLINE);
        }
    }

    /** Writes to random LMRs of many, compared with writes to one; the device's memory regions before and after. */
    private static void manyLmrs(BenchReport report, Lite rdma) {
        LmrSpec spec = LmrSpec.of(LMR_BYTES).withPlacement(Placement.on(RdmaPeer.NAME));
        LmrHandle[] handles = new LmrHandle[LMR_COUNT];
        handles[0] = rdma.memory().malloc(spec);
        OptionalInt regionsBefore = Perftest.memoryRegions();
        long beginNs = System.nanoTime();
        for (int index = 1; index < LMR_COUNT; index++) {
            handles[index] = rdma.memory().malloc(spec);
        }
        report.note("%d LMRs created in %d ms".formatted(LMR_COUNT, (System.nanoTime() - beginNs) / 1_000_000));
        OptionalInt regions = Perftest.memoryRegions();
        if (regionsBefore.isPresent() && regions.isPresent()) {
            report.note("memory regions as \"rdma resource show\" counts them; raw: with 1 LMR");
            report.add("memory-regions", LMR_COUNT, "regions", regions.getAsInt(), regionsBefore.getAsInt());
        } else {
            report.note("no row \"memory-regions\": " + Perftest.failure());
        }
        int[] order = new Random(1).ints(1 << 16, 0, LMR_COUNT).toArray();
        LmrSpec wholeSpec = LmrSpec.of((long) LMR_COUNT * LMR_BYTES).withPlacement(Placement.on(RdmaPeer.NAME));
        try (Arena scope = Arena.ofConfined();
                LmrHandle whole = rdma.memory().malloc(wholeSpec)) {
            MemorySegment local = scope.allocate(64, 64);
            Comparison.Batch toMany = n -> {
                for (int i = 0; i < n; i++) {
                    handles[order[i & 0xffff]].write(0, local);
                }
            };
            Comparison.Batch toOne = n -> {
                for (int i = 0; i < n; i++) {
                    whole.write((long) order[i & 0xffff] * LMR_BYTES, local);
                }
            };
            report.note("raw: one LMR as large as all of them, at the same offsets; then one LMR, at one offset");
            Comparison.Result result = Comparison.measure(toMany, toOne);
            report.add("write-%d-lmrs-one-large".formatted(LMR_COUNT), 64, "ns", result.oursNs(), result.rawNs());
            result = Comparison.measure(toMany, n -> write(handles[0], local, n));
            report.add("write-%d-lmrs-one-small".formatted(LMR_COUNT), 64, "ns", result.oursNs(), result.rawNs());
        }
        // Freed at the end of the session.
    }

    /** The resident memory and the heap garbage after many operations, after a warm-up of a tenth of them. */
    private static void manyOperations(BenchReport report, Lite rdma) {
        try (Arena scope = Arena.ofConfined();
                LmrHandle handle = window(rdma)) {
            MemorySegment local = scope.allocate(64, 64);
            int unused = readAndWrite(handle, local, OPERATIONS_WARM_UP);
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            System.gc();
            double residentBefore = residentKib();
            long allocatedBefore = threads.getCurrentThreadAllocatedBytes();
            int done = readAndWrite(handle, local, OPERATIONS);
            long allocated = threads.getCurrentThreadAllocatedBytes() - allocatedBefore;
            System.gc();
            report.note("raw: the resident size before, ours: after %d operations of 64 bytes, reads and writes in turn"
                    .formatted(done));
            report.add("resident-size", done, "KiB", residentKib(), residentBefore);
            report.note("heap-per-operation: %d bytes in total; raw: the target".formatted(allocated));
            report.add("heap-per-operation", done, "B", (double) allocated / done, 0);
        }
    }

    /** Runs the requested number of operations, or as many as the time allows. */
    private static int readAndWrite(LmrHandle handle, MemorySegment local, int operations) {
        long endNs = System.nanoTime() + OPERATIONS_NS_MAX;
        int done = 0;
        while (done < operations && System.nanoTime() - endNs < 0) {
            handle.write(0, local);
            handle.read(0, local);
            done += 2;
        }
        return done;
    }

    private static double residentKib() {
        try (BufferedReader status = Files.newBufferedReader(Path.of("/proc/self/status"), StandardCharsets.UTF_8)) {
            return status.lines()
                    .filter(line -> line.startsWith("VmRSS:"))
                    .mapToDouble(line -> Double.parseDouble(line.replaceAll("\\D", "")))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read /proc/self/status", e);
        }
    }
}
