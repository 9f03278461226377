package dev.lite.bench;

import dev.lite.api.RpcClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;

/**
 * The arena memory that calls take, under key-value sizes like those of Facebook's (paper Fig. 12): most values are short and a
 * few are long. The counterpart is a receive buffer of the largest size for each call that may be under way, as send and
 * receive verbs need it.
 */
final class RpcMemoryBench implements BenchMain.Benchmark {
    private static final long SEED = 20171028;
    private static final int CALLS = 20_000;
    private static final int UNDER_WAY = 64;
    private static final int LARGEST = 64 << 10;
    private static final int LONG_EVERY = 100;

    @Override
    public void run(BenchReport report) {
        try (RpcPair pair = RpcPair.start()) {
            RpcClient client = pair.lite.rpc().bind(RpcPair.SERVER, "echo");
            Random random = new Random(SEED);
            long bytes = 0;
            List<CompletableFuture<byte[]>> underWay = new ArrayList<>();
            for (int i = 0; i < CALLS; i++) {
                byte[] request = new byte[valueBytes(random)];
                request[0] = 8;
                bytes += request.length;
                underWay.add(client.callAsync(request, RpcPair.DEADLINE));
                if (underWay.size() == UNDER_WAY) {
                    underWay.forEach(CompletableFuture::join);
                    underWay.clear();
                }
            }
            underWay.forEach(CompletableFuture::join);
            report.add(
                    "arena-of-the-caller",
                    bytes / CALLS,
                    "bytes",
                    (double) pair.node().rpcMemoryBytes(),
                    2.0 * UNDER_WAY * LARGEST);
        }
    }

    /** A generalized Pareto distribution of values (scale 214.5 bytes, shape 0.348), now and then a very long one. */
    private static int valueBytes(Random random) {
        if (random.nextInt(LONG_EVERY) == 0) {
            return LARGEST;
        }
        double uniform = 1 - random.nextDouble();
        double value = 214.476 * (Math.pow(uniform, -0.348238) - 1) / 0.348238;
        return (int) Math.clamp(value, 4, LARGEST);
    }
}
