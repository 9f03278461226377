package dev.lite.bench;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.api.RpcClient;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.OptionalDouble;

/**
 * Two node processes connected by TCP over loopback: an embedded caller on one node, the LMR on the other.
 *
 * <p>Both sides wait alike: a plain Java socket polls as often before it blocks in a selector as a LITE thread before it
 * blocks in epoll, {@link TcpPeer#spins} times, about 100 µs. LITE reduces its spins after unsuccessful ones; the plain
 * socket does not. The other node has a thread in {@code receive}, which serves reads and calls.
 *
 * <ul>
 *   <li>{@code read}: 64 bytes, compared with a plain socket that sends 64 bytes and receives 64;
 *   <li>{@code rpc}: a call with 64 bytes each way, compared with the same;
 *   <li>{@code write}: 1 MiB at a time, in megabytes per second, compared with qperf's tcp_bw;
 *   <li>{@code write-plain-socket}: the same, compared with a plain socket that sends 1 MiB and waits for one byte;
 *   <li>{@code write-async}: {@link Pipeline#UNDER_WAY} outstanding writes, compared with one at a time.
 * </ul>
 */
final class TcpBench implements BenchMain.Benchmark {
    private static final double NS_TO_MB_PER_S = 1_000;

    @Override
    public void run(BenchReport report) {
        try (TcpPair pair = TcpPair.start();
                LmrHandle handle = pair.lite
                        .memory()
                        .malloc(LmrSpec.of(TcpPeer.LARGE_BYTES).withPlacement(Placement.on(TcpPair.SERVER)))) {
            try (PlainSocket plain = PlainSocket.connect(pair.addresses().echoPort(), pair.spins())) {
                read(report, handle, plain);
                rpc(report, pair.lite.rpc().bind(TcpPair.SERVER, TcpPeer.FUNCTION), plain);
            }
            write(report, handle, pair.addresses(), pair.spins());
            writeAsync(report, handle);
        }
    }

    private static void read(BenchReport report, LmrHandle handle, PlainSocket plain) {
        try (Arena scope = Arena.ofConfined()) {
            MemorySegment local = scope.allocate(TcpPeer.SMALL_BYTES, 64);
            ByteBuffer buffer = ByteBuffer.allocateDirect(TcpPeer.SMALL_BYTES);
            Comparison.Result result = Comparison.measureServed(
                    n -> {
                        for (int i = 0; i < n; i++) {
                            handle.read(0, local);
                        }
                    },
                    n -> {
                        for (int i = 0; i < n; i++) {
                            plain.send(buffer);
                            plain.receive(buffer);
                        }
                    });
            report.add("read", TcpPeer.SMALL_BYTES, "ns", result.oursNs(), result.rawNs());
        }
    }

    private static void rpc(BenchReport report, RpcClient client, PlainSocket plain) {
        Duration deadline = Duration.ofSeconds(10);
        try (Arena scope = Arena.ofConfined()) {
            MemorySegment request = scope.allocate(TcpPeer.SMALL_BYTES, 64);
            MemorySegment reply = scope.allocate(TcpPeer.SMALL_BYTES, 64);
            ByteBuffer buffer = ByteBuffer.allocateDirect(TcpPeer.SMALL_BYTES);
            Comparison.Result result = Comparison.measureServed(
                    n -> {
                        for (int i = 0; i < n; i++) {
                            client.call(request, reply, deadline);
                        }
                    },
                    n -> {
                        for (int i = 0; i < n; i++) {
                            plain.send(buffer);
                            plain.receive(buffer);
                        }
                    });
            report.add("rpc", TcpPeer.SMALL_BYTES, "ns", result.oursNs(), result.rawNs());
        }
    }

    private static void write(BenchReport report, LmrHandle handle, TcpPeer.Addresses peer, int spins) {
        try (Arena scope = Arena.ofConfined();
                PlainSocket plain = PlainSocket.connect(peer.sinkPort(), spins)) {
            MemorySegment local = scope.allocate(TcpPeer.LARGE_BYTES, 64);
            ByteBuffer buffer = ByteBuffer.allocateDirect(TcpPeer.LARGE_BYTES);
            ByteBuffer answer = ByteBuffer.allocateDirect(1);
            Comparison.Result result = Comparison.measureServed(
                    n -> {
                        for (int i = 0; i < n; i++) {
                            handle.write(0, local);
                        }
                    },
                    n -> {
                        for (int i = 0; i < n; i++) {
                            plain.send(buffer);
                            plain.receive(answer);
                        }
                    });
            double ours = megabytesPerSecond(result.oursNs());
            OptionalDouble bandwidth = Qperf.tcpBandwidth();
            if (bandwidth.isPresent()) {
                report.add("write", TcpPeer.LARGE_BYTES, "MB/s", ours, bandwidth.getAsDouble());
            } else {
                report.note("qperf is not installed (Debian package qperf): no row \"write\"");
            }
            report.add("write-plain-socket", TcpPeer.LARGE_BYTES, "MB/s", ours, megabytesPerSecond(result.rawNs()));
        }
    }

    private static void writeAsync(BenchReport report, LmrHandle handle) {
        try (Arena scope = Arena.ofShared()) {
            for (int bytes : new int[] {64, 4096, 64 << 10}) {
                MemorySegment local = scope.allocate(bytes, 64);
                Comparison.Result result = Comparison.measureLong(n -> Pipeline.write(handle, local, n), n -> {
                    for (int i = 0; i < n; i++) {
                        handle.write(0, local);
                    }
                });
                report.add("write-async", bytes, "ns", result.oursNs(), result.rawNs());
            }
        }
    }

    private static double megabytesPerSecond(double ns) {
        return TcpPeer.LARGE_BYTES * NS_TO_MB_PER_S / ns;
    }
}
