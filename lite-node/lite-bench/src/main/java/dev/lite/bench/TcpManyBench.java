package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.api.RpcClient;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Many callers of one node over TCP, two processes: 1 and {@value #THREADS} embedded threads beside as many blocking Java sockets,
 * asynchronous operations beside one at a time, and large writes beside a plain socket.
 *
 * <p>Operations per second of all threads together, from runs that alternate. The slowest thread's share of the mean stands
 * in a row of its own: a high rate may hide a thread that starves. {@code -Dlite.bench.case=read} runs only the cases whose
 * names contain that word.
 */
final class TcpManyBench implements BenchMain.Benchmark {
    private static final int THREADS = 8;
    private static final int CALL_BYTES = 8;
    private static final double NS_TO_MB_PER_S = 1_000;
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    private final String only = System.getProperty("lite.bench.case", "");

    @Override
    public void run(BenchReport report) {
        Path arenas = BenchNodes.makeTemporary(Path.of("/dev/shm"));
        Path sockets = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        LiteNodeConfig config = TcpPeer.config("node-0", arenas, sockets);
        try (LiteNode self = LiteNode.start(config, store.open(), List.of(new TcpFabricProvider()));
                TcpPeer peer = TcpPeer.start(self, arenas, sockets)) {
            TcpPeer.enter(store, "node-1", self.self().host(), peer.addresses().address());
            try (Lite lite = self.attach("bench");
                    LmrHandle handle = lite.memory()
                            .malloc(LmrSpec.of(TcpPeer.LARGE_BYTES).withPlacement(Placement.on("node-1")))) {
                RpcClient client = lite.rpc().bind("node-1", TcpPeer.FUNCTION);
                for (int threads : new int[] {1, THREADS}) {
                    threads(report, handle, client, peer.addresses().blockingPort(), threads);
                }
                async(report, handle, client);
                large(report, handle, peer.addresses().blockingSinkPort());
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start the other node", e);
        } finally {
            BenchNodes.delete(arenas);
            BenchNodes.delete(sockets);
        }
    }

    private boolean isWanted(String name) {
        return name.contains(only);
    }

    private void threads(BenchReport report, LmrHandle handle, RpcClient client, int port, int threads) {
        String suffix = "-%d-threads".formatted(threads);
        List<BlockingSocket> plain = new ArrayList<>();
        try (Arena scope = Arena.ofShared()) {
            for (int i = 0; i < threads; i++) {
                plain.add(BlockingSocket.connect(port));
            }
            IntFunction<Runnable> bySocket = thread -> {
                BlockingSocket socket = plain.get(thread);
                ByteBuffer buffer = ByteBuffer.allocateDirect(TcpPeer.SMALL_BYTES);
                return () -> socket.roundTrip(buffer, buffer);
            };
            if (isWanted("read" + suffix)) {
                add(report, "read" + suffix, TcpPeer.SMALL_BYTES, threads, bySocket, thread -> {
                    MemorySegment local = scope.allocate(TcpPeer.SMALL_BYTES, 64);
                    return () -> handle.read(64L * thread, local);
                });
            }
            if (isWanted("call" + suffix)) {
                add(report, "call" + suffix, CALL_BYTES, threads, bySocket, thread -> {
                    MemorySegment request = scope.allocate(CALL_BYTES, 64);
                    MemorySegment reply = scope.allocate(TcpPeer.SMALL_BYTES, 64);
                    return () -> client.call(request, reply, DEADLINE);
                });
            }
        } finally {
            plain.forEach(BlockingSocket::close);
        }
    }

    private static void add(
            BenchReport report,
            String name,
            int bytes,
            int threads,
            IntFunction<Runnable> plain,
            IntFunction<Runnable> ours) {
        ClosedLoop.Pair rates = ClosedLoop.compare(threads, ours, plain);
        report.add(name, bytes, "op/s", rates.ours().perSecond(), rates.raw().perSecond());
        report.add(
                name + "-slowest",
                bytes,
                "of mean",
                rates.ours().slowest(),
                rates.raw().slowest());
    }

    private void async(BenchReport report, LmrHandle handle, RpcClient client) {
        try (Arena scope = Arena.ofShared()) {
            for (int bytes : new int[] {64, 4096}) {
                MemorySegment local = scope.allocate(bytes, 64);
                MemorySegment reply = scope.allocate(TcpPeer.SMALL_BYTES, 64);
                byte[] request = new byte[bytes];
                async(report, "read-async", bytes, n -> Pipeline.read(handle, local, n), () -> handle.read(0, local));
                async(
                        report,
                        "write-async",
                        bytes,
                        n -> Pipeline.write(handle, local, n),
                        () -> handle.write(0, local));
                async(
                        report,
                        "call-async",
                        bytes,
                        n -> Pipeline.call(client, request, DEADLINE, n),
                        () -> client.call(local, reply, DEADLINE));
            }
        }
    }

    /** In operations per second, so that a ratio above 1 is a gain. */
    private void async(BenchReport report, String name, int bytes, Comparison.Batch pipeline, Runnable one) {
        if (isWanted(name)) {
            Comparison.Result result = Comparison.measureServed(pipeline, n -> {
                for (int i = 0; i < n; i++) {
                    one.run();
                }
            });
            report.add(name, bytes, "op/s", 1e9 / result.oursNs(), 1e9 / result.rawNs());
        }
    }

    private void large(BenchReport report, LmrHandle handle, int port) {
        if (!isWanted("large")) {
            return;
        }
        BlockingSocket plain = BlockingSocket.connect(port);
        try (Arena scope = Arena.ofShared()) {
            MemorySegment local = scope.allocate(TcpPeer.LARGE_BYTES, 64);
            ByteBuffer buffer = ByteBuffer.allocateDirect(TcpPeer.LARGE_BYTES);
            ByteBuffer answer = ByteBuffer.allocateDirect(1);
            Comparison.Batch raw = n -> {
                for (int i = 0; i < n; i++) {
                    plain.roundTrip(buffer, answer);
                }
            };
            large(report, "large-write", () -> handle.write(0, local), raw);
            large(report, "large-read", () -> handle.read(0, local), raw);
        } finally {
            plain.close();
        }
    }

    private static void large(BenchReport report, String name, Runnable one, Comparison.Batch raw) {
        Comparison.Result result = Comparison.measureServed(
                n -> {
                    for (int i = 0; i < n; i++) {
                        one.run();
                    }
                },
                raw);
        report.add(
                name,
                TcpPeer.LARGE_BYTES,
                "MB/s",
                TcpPeer.LARGE_BYTES * NS_TO_MB_PER_S / result.oursNs(),
                TcpPeer.LARGE_BYTES * NS_TO_MB_PER_S / result.rawNs());
    }
}
