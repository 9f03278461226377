package dev.lite.system.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtRpc;
import dev.lite.api.Permission;
import dev.lite.api.RpcServer;
import dev.lite.local.LocalCluster;
import dev.lite.os.OsException;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * What a neighbour keeps of its throughput beside each kind of misbehaving application. It takes turns with two that behave well and have
 * as many threads: one that uses the node, and one that only computes or copies in its own memory, so that the processor itself is fair.
 * All operations beside the one are divided by all beside the other: single ratios differ by a factor of ten, since threads keep the
 * processors where the kernel first puts them. Then it waits until the neighbour is as fast as it was alone, and compares that, too. The
 * ratios are printed, not checked: they depend on the machine. All programs but the nodes and the manager run in this process.
 */
@Tag("hostile")
@Tag("fairness")
@Timeout(300)
@Isolated("it measures")
class FairnessTest {
    private static final String GREEDY = HostileCluster.GREEDY;
    private static final int ROUNDS = Integer.getInteger("lite.hostile.rounds", 11);
    private static final long SAMPLE_NS = Long.getLong("lite.hostile.sample-ms", 200) * 1_000_000;
    private static final long BACK_NS = 50_000_000;
    private static final long BACK_NS_MAX = 2_000_000_000L;
    private static final double FAIR = 0.8;
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final String LINE =
            "%-48s %2d threads %7d tries  %4.0f k/s; beside the node's user %4.0f k/s: %5.2f; beside computing %4.0f k/s: %5.2f"
                    + "; back after %4d ms, at most %4d, others %4d%n";
    private static final List<String> LINES = new ArrayList<>();

    private static LocalCluster cluster;
    private static Neighbour neighbour;

    private final AtomicLong numbers = new AtomicLong();

    /** What a thread does again and again; what it throws does not matter. */
    private interface Step {
        void take() throws ProtocolException, IOException;
    }

    @BeforeAll
    static void start() {
        cluster = HostileCluster.start("fair");
        neighbour = new Neighbour(HostileCluster.attach(cluster, HostileCluster.GOOD));
        double unused = rate(4 * SAMPLE_NS); // warms up
    }

    @AfterAll
    static void stop() {
        System.out.print("\n" + String.join("", LINES));
        if (neighbour != null) {
            neighbour.close();
        }
        if (cluster != null) {
            cluster.close();
        }
    }

    @AfterEach
    void theNeighbourReadsWhatItWrote() {
        assertThat(neighbour.wrong()).isEmpty();
        assertThat(cluster.node(1).isAlive()).isTrue();
        assertThat(cluster.manager().isAlive()).isTrue();
    }

    private static double rate(long sampleNs) {
        long before = neighbour.operations();
        long startNs = System.nanoTime();
        Waits.until("a sample", () -> System.nanoTime() - startNs > sampleNs);
        return (neighbour.operations() - before) * 1e9 / (System.nanoTime() - startNs);
    }

    /** One sample for each round, and the time until the neighbour was as fast as before. */
    private static final class Beside {
        private final double[] rates = new double[ROUNDS];
        private final long[] backNs = new long[ROUNDS];

        /** @param stop ends the other application */
        void measure(int round, double alone, Runnable stop) {
            try {
                rates[round] = rate(SAMPLE_NS);
            } finally {
                stop.run();
            }
            long endNs = System.nanoTime();
            while (rate(BACK_NS) <= FAIR * alone && System.nanoTime() - endNs < BACK_NS_MAX) {
                assertThat(neighbour.wrong()).isEmpty(); // and measured again
            }
            backNs[round] = System.nanoTime() - endNs - BACK_NS;
        }

        double sum() {
            return Arrays.stream(rates).sum();
        }

        /** @param index 0 for the shortest time */
        long backMs(int index) {
            return Math.max(0, Arrays.stream(backNs).sorted().toArray()[index] / 1_000_000);
        }
    }

    private static void measure(String attack, int threads, Step step) {
        measure(attack, threads, step, FairnessTest::compute);
    }

    /** @param busy what threads do that do not use the node */
    private static void measure(String attack, int threads, Step step, Step busy) {
        Beside good = new Beside();
        Beside own = new Beside();
        Beside bad = new Beside();
        AtomicLong steps = new AtomicLong();
        for (int round = 0; round < ROUNDS; round++) {
            double alone = rate(SAMPLE_NS / 2);
            for (int turn = 0; turn < 3; turn++) {
                switch ((round + turn) % 3) {
                    case 0 -> {
                        Neighbour other = new Neighbour(HostileCluster.attach(cluster, GREEDY), threads);
                        good.measure(round, alone, other::close);
                        assertThat(other.wrong()).isEmpty();
                    }
                    case 1 -> own.measure(round, alone, new Repeating(threads, busy, new AtomicLong())::close);
                    default -> bad.measure(round, alone, new Repeating(threads, step, steps)::close);
                }
            }
        }
        String line = LINE.formatted(
                attack,
                threads,
                steps.get(),
                thousands(bad),
                thousands(good),
                bad.sum() / good.sum(),
                thousands(own),
                bad.sum() / own.sum(),
                bad.backMs(ROUNDS / 2),
                bad.backMs(ROUNDS - 1),
                Math.max(good.backMs(ROUNDS - 1), own.backMs(ROUNDS - 1)));
        LINES.add(line);
        System.out.print(line);
        assertThat(bad.sum()).isPositive();
    }

    private static double thousands(Beside beside) {
        return beside.sum() / ROUNDS / 1000;
    }

    private static void compute() {
        byte[] bytes = new byte[16 << 10];
        Arrays.fill(bytes, (byte) 1);
        assertThat(Arrays.hashCode(bytes)).isNotZero();
    }

    /** Threads that repeat a step. */
    private static final class Repeating implements AutoCloseable {
        private final List<Thread> threads = new ArrayList<>();
        private final AtomicLong steps;
        private volatile boolean closed;

        /** @param steps counts what they do */
        Repeating(int count, Step step, AtomicLong steps) {
            this.steps = steps;
            for (int thread = 0; thread < count; thread++) {
                threads.add(Thread.ofPlatform().daemon().name("repeating").start(() -> run(step)));
            }
        }

        private void run(Step step) {
            while (!closed) {
                try {
                    step.take();
                } catch (LiteException | OsException | ProtocolException | IOException | AssertionError refused) {
                    assertThat(refused).isNotNull();
                }
                steps.incrementAndGet();
            }
        }

        @Override
        public void close() {
            closed = true;
            Waits.until(
                    "the repeating threads have stopped", () -> threads.stream().noneMatch(Thread::isAlive));
        }
    }

    private static RawApplication connect() {
        return new RawApplication(cluster.socket(1));
    }

    @Test
    void attachesThatAreRefused() {
        measure("attaches that are refused", 2, () -> {
            try (RawApplication raw = connect()) {
                raw.hello(99, GREEDY);
                boolean unused = raw.isRefused();
            }
        });
    }

    @Test
    void attachesWithoutAHello() {
        Deque<RawApplication> silent = new ArrayDeque<>();
        measure("attaches without a hello", 1, () -> {
            silent.add(connect());
            if (silent.size() > 100) {
                silent.remove().close();
            }
        });
        silent.forEach(RawApplication::close);
    }

    @Test
    void sessionsThatComeAndGo() {
        measure("sessions that come and go", 2, () -> {
            try (RawApplication raw = connect()) {
                assertThat(raw.attach(GREEDY)).isSameAs(raw);
            }
        });
    }

    @Test
    void commandsThatAreSubmittedAgain() {
        try (Lite server = HostileCluster.attach(cluster, HostileCluster.GOOD);
                RpcServer never = server.rpc().serve("never")) {
            assertThat(never).isNotNull();
            measure("commands that are submitted again in their slot", 2, () -> {
                try (RawApplication raw = connect().attach(GREEDY)) {
                    long function = raw.open(RpcKind.CLIENT, "node-1", "never");
                    raw.call(3, function);
                    raw.call(3, function);
                    assertThat(raw.goodbye()).isNotEmpty();
                }
            });
        }
    }

    @Test
    void functionsThatComeAndGo() {
        with(greedy -> measure(
                "functions that come and go",
                2,
                () -> greedy.rpc().serve("greedy/f" + numbers.incrementAndGet()).close()));
    }

    @Test
    void namesOfLocks() {
        with(greedy -> measure(
                "names of locks, each used once",
                2,
                () -> greedy.sync()
                        .lock("greedy/l" + numbers.incrementAndGet())
                        .acquire(HostileCluster.SOON)
                        .close()));
    }

    @Test
    void namesOfOthers() {
        with(greedy -> measure(
                "names of others", 2, () -> greedy.memory().map("good/" + numbers.incrementAndGet(), Permission.READ)));
    }

    @Test
    void namesThatDoNotExist() {
        with(greedy -> measure(
                "names that do not exist",
                2,
                () -> greedy.memory().map("greedy/" + numbers.incrementAndGet(), Permission.READ)));
    }

    @Test
    void messagesThatNobodyReceives() {
        MemorySegment message = MemorySegment.ofArray(new byte[LtRpc.MESSAGE_BYTES_MAX]);
        with(greedy -> {
            var port = greedy.rpc().messages("greedy/port");
            measure(
                    "messages of 64 KiB that nobody receives",
                    2,
                    () -> greedy.rpc().send("node-1", "greedy/port", message, SHORT));
            port.close();
        });
    }

    @Test
    void bulkWork() {
        int bytes = 100 << 20;
        with(greedy -> {
            LmrHandle large = greedy.memory().malloc(LmrSpec.of(bytes));
            byte[] own = new byte[8 << 20];
            measure("memset of 100 MiB", 16, () -> large.memset(0, bytes, (byte) 1), () -> Arrays.fill(own, (byte) 1));
            large.free();
        });
    }

    @Test
    void largeReads() {
        int bytes = 8 << 20;
        with(greedy -> {
            LmrHandle large = greedy.memory().malloc(LmrSpec.of(bytes));
            byte[] into = new byte[bytes];
            byte[] own = new byte[bytes];
            measure("reads of 8 MiB", 4, () -> large.read(0, into), () -> System.arraycopy(own, 0, into, 0, bytes));
            large.free();
        });
    }

    @Test
    void memoryThatIsTakenAndGivenBack() {
        with(greedy -> measure(
                "malloc and free of 8 MiB",
                2,
                () -> greedy.memory().malloc(LmrSpec.of(8 << 20)).free()));
    }

    @Test
    void callsThatAreNotAnswered() {
        with(greedy -> {
            RpcServer never = greedy.rpc().serve("greedy/never");
            measure(
                    "calls that nobody receives",
                    2,
                    () -> greedy.rpc().call("node-1", "greedy/never", new byte[8], Duration.ofMillis(1)));
            never.close();
        });
    }

    @Test
    void halfRequestsAtTheManager() {
        int port = managerPort();
        Deque<Socket> open = new ArrayDeque<>();
        byte[] half = "GET /api/nodes HTTP/1.1\r\nHost: localhost\r\n".getBytes(StandardCharsets.US_ASCII);
        measure("half requests at the manager", 1, () -> {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
            open.add(socket);
            if (open.size() > 100) {
                open.remove().close();
            }
            socket.getOutputStream().write(half);
        });
        open.forEach(FairnessTest::close);
    }

    private static int managerPort() {
        return URI.create(cluster.manager().property("url").orElseThrow()).getPort();
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException gone) {
            assertThat(gone).isNotNull();
        }
    }

    private interface Attack {
        void by(Lite greedy);
    }

    private static void with(Attack attack) {
        try (Lite greedy = HostileCluster.attach(cluster, GREEDY)) {
            attack.by(greedy);
        }
    }
}
