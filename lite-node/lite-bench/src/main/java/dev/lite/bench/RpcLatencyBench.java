package dev.lite.bench;

import dev.lite.api.RpcClient;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A call of 8 bytes and its reply (paper Fig. 10), compared with a bare ping-pong through two rings between the same two
 * JVMs.
 */
final class RpcLatencyBench implements BenchMain.Benchmark {
    @Override
    public void run(BenchReport report) {
        try (RpcPair pair = RpcPair.start();
                Arena scope = Arena.ofConfined()) {
            RpcClient client = pair.lite.rpc().bind(RpcPair.SERVER, "echo");
            MemorySegment request = scope.allocate(8);
            for (int bytes : new int[] {8, 64, 512, 4096}) {
                MemorySegment reply = scope.allocate(bytes);
                request.set(ValueLayout.JAVA_INT_UNALIGNED, 0, bytes);
                Comparison.Result result =
                        Comparison.measureServed(n -> call(client, request, reply, n), pair::pingPong);
                report.add("rpc-reply", bytes, "ns", result.oursNs(), result.rawNs());
            }
        }
    }

    static void call(RpcClient client, MemorySegment request, MemorySegment reply, int n) {
        for (int i = 0; i < n; i++) {
            client.call(request, reply, RpcPair.DEADLINE);
        }
    }
}
