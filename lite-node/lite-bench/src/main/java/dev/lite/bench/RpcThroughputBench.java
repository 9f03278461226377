package dev.lite.bench;

import dev.lite.api.RpcClient;
import dev.lite.bench.load.Asynchronous;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Calls of 8 bytes by one and by sixteen concurrent threads (paper Fig. 11), in nanoseconds per call over all threads,
 * compared with the bare ping-pong of one thread.
 */
final class RpcThroughputBench implements BenchMain.Benchmark {
    @Override
    public void run(BenchReport report) {
        try (RpcPair pair = RpcPair.start()) {
            RpcClient client = pair.lite.rpc().bind(RpcPair.SERVER, "echo");
            for (int bytes : new int[] {8, 1024}) {
                for (int callers : new int[] {1, 16}) {
                    Comparison.Result result =
                            Comparison.measureServed(n -> call(client, callers, bytes, n), pair::pingPong);
                    report.add("rpc-%d-callers".formatted(callers), bytes, "ns", result.oursNs(), result.rawNs());
                }
            }
        }
    }

    /** Calls {@code n} times in all. Fails if a caller fails: calls that were not made would look fast. */
    static void call(RpcClient client, int callers, int bytes, int n) {
        try (ExecutorService threads =
                Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
            List<Future<?>> others = new ArrayList<>();
            for (int caller = 1; caller < callers; caller++) {
                others.add(threads.submit(() -> call(client, bytes, n / callers)));
            }
            call(client, bytes, Math.max(1, n / callers));
            others.forEach(Asynchronous::await);
        }
    }

    private static void call(RpcClient client, int bytes, int n) {
        try (Arena scope = Arena.ofConfined()) {
            MemorySegment request = scope.allocate(8);
            MemorySegment reply = scope.allocate(bytes);
            request.set(ValueLayout.JAVA_INT_UNALIGNED, 0, bytes);
            RpcLatencyBench.call(client, request, reply, n);
        }
    }
}
