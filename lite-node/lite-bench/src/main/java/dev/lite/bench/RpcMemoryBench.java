package dev.lite.bench;

import dev.lite.api.RpcClient;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The arena memory used by calls with key-value sizes like Facebook's (paper Fig. 12): most values are short and a few are
 * long. The counterpart is a receive buffer of the maximum size for each outstanding call, as send and receive verbs
 * require.
 */
final class RpcMemoryBench implements BenchMain.Benchmark {
    private static final long SEED = 20171028;
    private static final int CALLS = 20_000;
    private static final int UNDER_WAY = 64;
    private static final int LARGEST = 64 << 10;
    private static final int LONG_EVERY = 100;

    @Override
    public void run(BenchReport report) {
        measure(report, "reply-of-at-most-8-bytes", (client, request) -> {
            MemorySegment reply = MemorySegment.ofArray(new byte[Long.BYTES]);
            return client.call(MemorySegment.ofArray(request), reply, RpcPair.DEADLINE);
        });
        measure(report, "reply-of-any-length", (client, request) -> client.call(request, RpcPair.DEADLINE).length);
    }

    private interface Call {
        long with(RpcClient client, byte[] request);
    }

    private static void measure(BenchReport report, String name, Call call) {
        try (RpcPair pair = RpcPair.start();
                ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            RpcClient client = pair.lite.rpc().bind(RpcPair.SERVER, "echo");
            Random random = new Random(SEED);
            long bytes = 0;
            List<CompletableFuture<Long>> underWay = new ArrayList<>();
            for (int i = 0; i < CALLS; i++) {
                byte[] request = new byte[valueBytes(random)];
                request[0] = Long.BYTES; // the length of the reply
                bytes += request.length;
                underWay.add(CompletableFuture.supplyAsync(() -> call.with(client, request), callers));
                if (underWay.size() == UNDER_WAY) {
                    underWay.forEach(CompletableFuture::join);
                    underWay.clear();
                }
            }
            underWay.forEach(CompletableFuture::join);
            double ours = (double) pair.node().figures().rpcMemoryBytes();
            report.add(name, bytes / CALLS, "bytes", ours, 2.0 * UNDER_WAY * LARGEST);
        }
    }

    /** A generalized Pareto distribution (scale 214.5 bytes, shape 0.348), with occasional very long values. */
    private static int valueBytes(Random random) {
        if (random.nextInt(LONG_EVERY) == 0) {
            return LARGEST;
        }
        double uniform = 1 - random.nextDouble();
        double value = 214.476 * (Math.pow(uniform, -0.348238) - 1) / 0.348238;
        return (int) Math.clamp(value, 4, LARGEST);
    }
}
