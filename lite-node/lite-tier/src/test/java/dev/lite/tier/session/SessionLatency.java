package dev.lite.tier.session;

import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.client.ClientConfig;
import dev.lite.client.LiteClient;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Prints round trips through a session within one process; not a test. Arguments: spins of client and node. */
final class SessionLatency {
    private static final int WARM_UP = 50_000;
    private static final int ROUNDS = 50_000;

    private SessionLatency() {}

    public static void main(String[] arguments) throws IOException {
        ClientConfig defaults = ClientConfig.fromSystemProperties();
        int spins = arguments.length > 0 ? Integer.parseInt(arguments[0]) : defaults.spins();
        Path directory = Files.createTempDirectory("lite-latency");
        try (FakeBackend backend = new FakeBackend();
                SessionServer server = new SessionServer(
                        SessionServerConfig.of(directory.resolve("s")).withSpins(spins), backend)) {
            server.start();
            try (LiteClient client =
                            LiteClient.attach(AttachOptions.to(server.socket(), "latency"), defaults.withSpins(spins));
                    LmrHandle lmr = client.memory().malloc(LmrSpec.of(64 << 20));
                    Arena arena = Arena.ofConfined()) {
                int warmUp = spins == 0 ? WARM_UP / 50 : WARM_UP;
                int rounds = spins == 0 ? ROUNDS / 50 : ROUNDS;
                for (int bytes : new int[] {8, 64, 4096, 65_536}) {
                    MemorySegment data = arena.allocate(bytes, 64);
                    int most = bytes > 4096 ? rounds / 10 : rounds;
                    measure(warmUp, () -> lmr.read(0, data));
                    print("read", bytes, measure(most, () -> lmr.read(0, data)));
                    print("write", bytes, measure(most, () -> lmr.write(0, data)));
                }
                print("fetchAdd", 8, measure(rounds, () -> lmr.fetchAdd(0, 1)));
                MemorySegment large = arena.allocate(32 << 20, 64);
                print("read", 32 << 20, measure(60, () -> lmr.read(0, large)));
                print("write", 32 << 20, measure(60, () -> lmr.write(0, large)));
            }
        } finally {
            Files.deleteIfExists(directory);
        }
    }

    private static long[] measure(int rounds, Runnable operation) {
        long[] ns = new long[rounds];
        for (int i = 0; i < rounds; i++) {
            long start = System.nanoTime();
            operation.run();
            ns[i] = System.nanoTime() - start;
        }
        Arrays.sort(ns);
        return ns;
    }

    private static void print(String operation, int bytes, long[] ns) {
        System.out.printf(
                "%-9s %9d B  median %8.2f us  p99 %8.2f us  %6.2f GB/s%n",
                operation,
                bytes,
                ns[ns.length / 2] / 1e3,
                ns[ns.length * 99 / 100] / 1e3,
                (double) bytes / ns[ns.length / 2]);
    }
}
