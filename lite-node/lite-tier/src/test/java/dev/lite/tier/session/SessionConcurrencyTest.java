package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.client.ClientConfig;
import dev.lite.client.LiteClient;
import dev.lite.session.protocol.SessionArea;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.ChildJvm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Many threads on one session, compared with a model; and the heap allocation of operations. */
@Isolated("it counts the threads or the memory of its process")
class SessionConcurrencyTest {
    private static final int THREADS = 8;
    private static final int THREAD_BYTES = 200_000;
    private static final int OPERATIONS = 1_500;
    private static final long ENOUGH = 1_000;

    @TempDir
    Path directory;

    @ParameterizedTest
    @CsvSource({"64, 65536, 1000", "2, 4096, 0", "5, 8192, 50"})
    void randomOperationsOfManyThreadsAgreeWithAModel(int slots, int windowBytes, int spins) throws Exception {
        long seed = System.nanoTime();
        System.out.println("seed " + seed);
        try (FakeBackend backend = new FakeBackend();
                SessionServer server = new SessionServer(
                        SessionServerConfig.of(directory.resolve("s"))
                                .withArea(new SessionArea(slots, windowBytes))
                                .withSpins(spins),
                        backend);
                ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            server.start();
            try (LiteClient client = attach(server, spins)) {
                LmrHandle lmr = client.memory()
                        .malloc(LmrSpec.of((long) THREADS * THREAD_BYTES + 8).withName("shared"));
                Set<Long> tickets = ConcurrentHashMap.newKeySet();
                List<Callable<Integer>> work = new ArrayList<>();
                for (int i = 0; i < THREADS; i++) {
                    Random random = new Random(seed + i);
                    long base = (long) i * THREAD_BYTES;
                    work.add(() -> operate(client, lmr, base, random, tickets));
                }
                long added = 0;
                for (Future<Integer> one : threads.invokeAll(work, 60, TimeUnit.SECONDS)) {
                    added += one.get();
                }
                assertThat(tickets).hasSize((int) added);
                assertThat(lmr.fetchAdd((long) THREADS * THREAD_BYTES, 0)).isEqualTo(added);
            }
        }
    }

    /** Operates on the thread's own part of the LMR, which is compared with an array, and on one word shared by all threads. */
    private static int operate(LiteClient client, LmrHandle lmr, long base, Random random, Set<Long> tickets) {
        byte[] model = new byte[THREAD_BYTES];
        int added = 0;
        for (int i = 0; i < OPERATIONS; i++) {
            int length = random.nextInt(10) == 0 ? random.nextInt(THREAD_BYTES) : random.nextInt(300);
            int at = random.nextInt(THREAD_BYTES - length);
            switch (random.nextInt(5)) {
                case 0, 1 -> {
                    byte[] data = new byte[length];
                    random.nextBytes(data);
                    System.arraycopy(data, 0, model, at, length);
                    lmr.write(base + at, data);
                }
                case 2, 3 -> {
                    byte[] data = new byte[length];
                    lmr.read(base + at, data);
                    assertThat(Arrays.equals(data, 0, length, model, at, at + length))
                            .as("%d bytes at %d", length, at)
                            .isTrue();
                }
                default -> {
                    // Maps one handle after another, so that numbers and indexes are reused often.
                    try (LmrHandle own = client.memory().map("shared", Permission.ATOMIC)) {
                        assertThat(tickets.add(own.fetchAdd((long) THREADS * THREAD_BYTES, 1)))
                                .isTrue();
                        added++;
                    }
                }
            }
        }
        return added;
    }

    /** In a JVM of its own: which objects the JIT compiler removes depends on what it has compiled before. */
    @Test
    void operationsAllocateNothingOnEitherSide() {
        long fewest = Long.MAX_VALUE;
        for (int jvm = 0; jvm < 3 && fewest >= ENOUGH; jvm++) {
            try (ChildJvm child = ChildJvm.start(
                    List.of("-XX:TieredStopAtLevel=4"),
                    Allocation.class,
                    directory.resolve("s" + jvm).toString())) {
                fewest = Math.min(fewest, Long.parseLong(Objects.requireNonNull(child.line())));
            }
        }
        // 8,000 operations; the rest is the cost of reading the counters.
        assertThat(fewest).isLessThan(ENOUGH);
    }

    /** Prints how many bytes a run of operations allocates: the least until the JIT compiler is done. */
    static final class Allocation {
        private Allocation() {}

        /** @param arguments the path of the socket */
        static void main(String[] arguments) {
            try (FakeBackend backend = new FakeBackend();
                    SessionServer server = new SessionServer(SessionServerConfig.of(Path.of(arguments[0])), backend)) {
                server.start();
                try (LiteClient client = attach(server, 100);
                        LmrHandle lmr = client.memory().malloc(LmrSpec.of(1 << 20));
                        Arena arena = Arena.ofConfined()) {
                    MemorySegment small = arena.allocate(64);
                    MemorySegment large = arena.allocate(300_000);
                    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
                    long here = Thread.currentThread().threadId();
                    long node = nodeThread();
                    operate(lmr, small, large, 5_000);
                    long fewest = Long.MAX_VALUE;
                    long endNs = System.nanoTime() + Waits.seconds(10).toNanos();
                    while (fewest >= ENOUGH && System.nanoTime() < endNs) {
                        long before = threads.getThreadAllocatedBytes(here) + threads.getThreadAllocatedBytes(node);
                        operate(lmr, small, large, 2_000);
                        long after = threads.getThreadAllocatedBytes(here) + threads.getThreadAllocatedBytes(node);
                        fewest = Math.min(fewest, after - before);
                    }
                    System.out.println(fewest);
                }
            }
        }
    }

    private static void operate(LmrHandle lmr, MemorySegment small, MemorySegment large, int rounds) {
        for (int i = 0; i < rounds; i++) {
            lmr.write(i, small);
            lmr.read(i, small);
            lmr.fetchAdd(8, 1);
            lmr.testSet(8, 0, 1);
            if (i % 10 == 0) {
                lmr.write(0, large);
                lmr.read(0, large);
            }
        }
    }

    private static long nodeThread() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("lite-session-")
                        && thread.getName().endsWith("-data"))
                .mapToLong(Thread::threadId)
                .findFirst()
                .orElseThrow();
    }

    private static LiteClient attach(SessionServer server, int spins) {
        return LiteClient.attach(
                AttachOptions.to(server.socket(), "test").withDeadline(Waits.scaled(Duration.ofSeconds(20))),
                ClientConfig.fromSystemProperties().withSpins(spins));
    }
}
