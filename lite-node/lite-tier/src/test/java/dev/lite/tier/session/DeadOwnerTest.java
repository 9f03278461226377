package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An attached application's operations on the memory of a node that does not answer: their errors name that node. */
class DeadOwnerTest {
    private static final int BYTES = 1 << 20; // several windows
    private static final int MANY = 48;
    /** The node gives up half a second earlier, the most there is. */
    private static final Duration DEADLINE = Waits.seconds(2.5);

    @TempDir(factory = InDevShm.class)
    Path root;

    @TempDir
    Path sockets;

    private interface Death {
        void happen(TestCluster cluster);
    }

    /** @param atATime what the test then starts many times at once */
    private void assertErrorsNameTheOwner(
            FabricProvider fabric, Death death, Function<LmrHandle, List<ThrowingCallable>> atATime, Runnable end) {
        try (TestCluster cluster = new TestCluster(root, fabric, Waits.seconds(10)).start(2);
                SessionServer server =
                        new SessionServer(SessionServerConfig.of(sockets.resolve("n0.sock")), cluster.node(0))) {
            server.start();
            try (Lite app = Lite.attach(AttachOptions.to(server.socket(), "app").withDeadline(DEADLINE))) {
                LmrHandle handle = app.memory().malloc(LmrSpec.of(BYTES).withPlacement(Placement.on("n1")));
                handle.write(0, new byte[BYTES]);
                death.happen(cluster);
                List<ThrowingCallable> operations = List.of(
                        () -> handle.read(0, new byte[8]),
                        () -> handle.read(0, new byte[BYTES]),
                        () -> handle.write(0, new byte[BYTES]),
                        () -> handle.fetchAdd(0, 1),
                        () -> handle.memset(0, BYTES, (byte) 1));
                operations.forEach(DeadOwnerTest::assertItNamesTheOwner);
                assertManyAtATimeNameTheOwner(atATime.apply(handle));
            } finally {
                end.run();
            }
        }
    }

    /** Their time begins at once, although one after the other finds that it must wait. */
    private static void assertManyAtATimeNameTheOwner(List<ThrowingCallable> operations) {
        try (ExecutorService threads = Executors.newFixedThreadPool(MANY)) {
            List<Future<?>> all = IntStream.range(0, MANY)
                    .<Future<?>>mapToObj(number ->
                            threads.submit(() -> assertItNamesTheOwner(operations.get(number % operations.size()))))
                    .toList();
            all.forEach(future -> assertThat(future).succeedsWithin(Waits.seconds(10)));
        }
    }

    private static void assertItNamesTheOwner(ThrowingCallable operation) {
        assertThatThrownBy(operation)
                .isInstanceOf(LiteException.class)
                .hasMessageMatching("(?s).*(node 1|nodes \\[1]|n1).*")
                .hasMessageNotContaining("node n0 did not answer");
    }

    /** As a process that was killed: its registration lasts until its session expires. */
    @Test
    void theyNameANodeThatEndedAndIsStillRegistered() {
        assertErrorsNameTheOwner(
                new TcpFabricProvider(),
                cluster -> cluster.node("n1").close(),
                handle -> List.of(
                        () -> handle.read(0, new byte[8]),
                        () -> handle.fetchAdd(0, 1),
                        () -> handle.memset(0, 8, (byte) 1)),
                () -> {});
    }

    /** The end of a session does not wait for them. */
    @Test
    void operationsThatWaitForItEndWithTheirSession() {
        try (TestCluster cluster = new TestCluster(root, new TcpFabricProvider(), Waits.seconds(10)).start(2);
                SessionServer server =
                        new SessionServer(SessionServerConfig.of(sockets.resolve("n0.sock")), cluster.node(0));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            server.start();
            Lite app = Lite.attach(AttachOptions.to(server.socket(), "app").withDeadline(Duration.ofHours(1)));
            LmrHandle handle = app.memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("n1")));
            cluster.node("n1").close();
            Waits.until(
                    "node n0 knows it",
                    () -> cluster.node(0).nodes().stream()
                            .anyMatch(peer -> peer.fabric().equals("none")));
            Future<?> read = threads.submit(() -> handle.read(0, new byte[8]));
            Future<?> add = threads.submit(() -> handle.fetchAdd(0, 1));
            Waits.until("both wait", () -> server.operations().keySet().containsAll(Set.of(Kind.READ, Kind.ATOMIC)));
            assertThat(threads.submit(server::close)).succeedsWithin(Waits.seconds(3));
            assertThat(read).failsWithin(Waits.seconds(3)).withThrowableOfType(ExecutionException.class);
            assertThat(add).failsWithin(Waits.seconds(3)).withThrowableOfType(ExecutionException.class);
            app.close();
        }
    }

    /** As a host that lost power: its connections stay, and nothing comes. */
    @Test
    void theyNameANodeThatIsSilent() {
        AtomicReference<CountDownLatch> silence = new AtomicReference<>(new CountDownLatch(0));
        CountDownLatch end = new CountDownLatch(1);
        FabricProvider fabric = new SilentFabric.Provider(new TcpFabricProvider(), "n1", silence);
        assertErrorsNameTheOwner(
                fabric,
                cluster -> silence.set(end),
                handle -> List.of(() -> handle.read(0, new byte[8]), () -> handle.fetchAdd(0, 1)),
                end::countDown);
    }

    /** A fabric whose poller stops while there is silence. */
    private record SilentFabric(Fabric fabric, AtomicReference<CountDownLatch> silence) implements Fabric {
        record Provider(FabricProvider driver, String silent, AtomicReference<CountDownLatch> silence)
                implements FabricProvider {
            @Override
            public String name() {
                return driver.name();
            }

            @Override
            public Optional<String> unavailable() {
                return driver.unavailable();
            }

            @Override
            public Fabric open(FabricConfig config, FabricHandler handler) {
                Fabric opened = driver.open(config, handler);
                return config.node().equals(silent) ? new SilentFabric(opened, silence) : opened;
            }
        }

        @Override
        public String name() {
            return fabric.name();
        }

        @Override
        public String localAddress() {
            return fabric.localAddress();
        }

        @Override
        public FabricCapabilities capabilities() {
            return fabric.capabilities();
        }

        @Override
        public void register(FabricMemory memory) {
            fabric.register(memory);
        }

        @Override
        public FabricEndpoint connect(String address) {
            return fabric.connect(address);
        }

        @Override
        public int poll(int limit) {
            try {
                silence.get().await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return fabric.poll(limit);
        }

        @Override
        public int pollCost() {
            return fabric.pollCost();
        }

        @Override
        public void await(long timeoutNs) {
            fabric.await(timeoutNs);
        }

        @Override
        public boolean arm() {
            return fabric.arm();
        }

        @Override
        public void disarm() {
            fabric.disarm();
        }

        @Override
        public void awaitArmed(long timeoutNs) {
            fabric.awaitArmed(timeoutNs);
        }

        @Override
        public void wakeup() {
            fabric.wakeup();
        }

        @Override
        public void close() {
            fabric.close();
        }
    }
}
