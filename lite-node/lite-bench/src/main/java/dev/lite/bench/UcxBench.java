package dev.lite.bench;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.api.RpcClient;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * An embedded caller and another node's process, compared with UCX between two native processes ({@link Ucx}), over shared
 * memory and over loopback TCP. Both are measured alternately, {@value #ROUNDS} times; UCX starts its processes anew each time.
 * UCX polls without a pause, has no names and no permissions, and does not encrypt; LITE's own choice for TCP is {@code
 * lite.bench.protection}.
 *
 * <ul>
 *   <li>{@code shm-read}, {@code shm-write}: compared with {@code ucp_get} and {@code ucp_put_bw}, one at a time;
 *   <li>{@code shm-add}: {@code fetchAdd}, compared with {@code ucp_fadd};
 *   <li>{@code shm-call}: a call and a reply of the same length, compared with two messages of {@code tag_lat};
 *   <li>{@code tcp-read}, {@code tcp-add}, {@code tcp-call}: the same over TCP.
 * </ul>
 */
final class UcxBench implements BenchMain.Benchmark {
    private static final int ROUNDS = 7;
    private static final long ROUND_NS = 300_000_000;
    private static final int LMR_BYTES = 4 << 20;
    private static final int SMALL = 64;

    @Override
    public void run(BenchReport report) {
        try {
            overSharedMemory(report, new Ucx("posix"));
            overTcp(report, new Ucx("tcp"));
        } catch (IOException e) {
            report.note("no further rows: ucx_perftest (Debian package ucx-utils) in a network namespace failed: "
                    + e.getMessage());
        }
    }

    private static void overSharedMemory(BenchReport report, Ucx ucx) throws IOException {
        try (RpcPair pair = RpcPair.start();
                Arena scope = Arena.ofConfined();
                LmrHandle handle =
                        pair.lite.memory().malloc(LmrSpec.of(LMR_BYTES).withPlacement(Placement.on(RpcPair.SERVER)))) {
            for (int bytes : new int[] {8, SMALL, 4096, 1 << 20}) {
                MemorySegment local = scope.allocate(bytes, SMALL);
                compare(report, "shm-read", bytes, n -> read(handle, local, n), ucx, "ucp_get", 1);
                compare(report, "shm-write", bytes, n -> write(handle, local, n), ucx, "ucp_put_bw", 1);
            }
            compare(report, "shm-add", Long.BYTES, n -> add(handle, n), ucx, "ucp_fadd", 1);
            RpcClient client = pair.lite.rpc().bind(RpcPair.SERVER, "echo");
            for (int bytes : new int[] {8, SMALL, 4096}) {
                MemorySegment request = scope.allocate(bytes, SMALL);
                MemorySegment reply = scope.allocate(bytes, SMALL);
                request.set(ValueLayout.JAVA_INT_UNALIGNED, 0, bytes);
                compare(
                        report,
                        "shm-call",
                        bytes,
                        n -> RpcLatencyBench.call(client, request, reply, n),
                        ucx,
                        "tag_lat",
                        2);
            }
        }
    }

    private static void overTcp(BenchReport report, Ucx ucx) throws IOException {
        try (TcpPair pair = TcpPair.start();
                Arena scope = Arena.ofConfined();
                LmrHandle handle =
                        pair.lite.memory().malloc(LmrSpec.of(LMR_BYTES).withPlacement(Placement.on(TcpPair.SERVER)))) {
            MemorySegment request = scope.allocate(TcpPeer.SMALL_BYTES, SMALL);
            MemorySegment reply = scope.allocate(TcpPeer.SMALL_BYTES, SMALL);
            compare(report, "tcp-read", TcpPeer.SMALL_BYTES, n -> read(handle, reply, n), ucx, "ucp_get", 1);
            compare(report, "tcp-add", Long.BYTES, n -> add(handle, n), ucx, "ucp_fadd", 1);
            RpcClient client = pair.lite.rpc().bind(TcpPair.SERVER, TcpPeer.FUNCTION);
            compare(
                    report,
                    "tcp-call",
                    TcpPeer.SMALL_BYTES,
                    n -> RpcLatencyBench.call(client, request, reply, n),
                    ucx,
                    "tag_lat",
                    2);
        }
    }

    private static void compare(
            BenchReport report, String name, int bytes, Comparison.Batch ours, Ucx ucx, String test, int messages)
            throws IOException {
        int oursCount = Comparison.count(ours, ROUND_NS);
        int theirsCount = ucx.count(test, bytes, ROUND_NS);
        double[] oursNs = new double[ROUNDS];
        double[] theirsNs = new double[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            oursNs[round] = Comparison.time(ours, oursCount);
            theirsNs[round] = messages * ucx.nanoseconds(test, bytes, theirsCount);
        }
        report.add(name, bytes, "ns", Comparison.median(oursNs), Comparison.median(theirsNs));
    }

    private static void read(LmrHandle handle, MemorySegment local, int n) {
        for (int i = 0; i < n; i++) {
            handle.read(0, local);
        }
    }

    private static void write(LmrHandle handle, MemorySegment local, int n) {
        for (int i = 0; i < n; i++) {
            handle.write(0, local);
        }
    }

    private static void add(LmrHandle handle, int n) {
        for (int i = 0; i < n; i++) {
            long unused = handle.fetchAdd(0, 1);
        }
    }
}
