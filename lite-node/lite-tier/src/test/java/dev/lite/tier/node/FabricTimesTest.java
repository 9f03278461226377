package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.lmr.UnderWay;
import dev.lite.tier.memory.HeldMapping;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When a node opens its fabrics, and when it closes them. */
class FabricTimesTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final Duration SOON = Waits.seconds(1);

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    private static @Nullable Object call(Object target, Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** Knows which nodes have closed their fabric. */
    private record Watched(FabricProvider driver, Runnable beforeRegister, Set<String> closed)
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
            Fabric fabric = driver.open(config, handler);
            return (Fabric) Proxy.newProxyInstance(
                    Fabric.class.getClassLoader(), new Class<?>[] {Fabric.class}, (self, method, arguments) -> {
                        if (method.getName().equals("register")) {
                            beforeRegister.run();
                        } else if (method.getName().equals("close")) {
                            closed.add(config.node());
                        }
                        return call(fabric, method, arguments);
                    });
        }
    }

    /** A directory that answers no request without time. */
    private static ClusterDirectory strict(ClusterDirectory directory) {
        return (ClusterDirectory) Proxy.newProxyInstance(
                ClusterDirectory.class.getClassLoader(),
                new Class<?>[] {ClusterDirectory.class},
                (self, method, arguments) -> {
                    if (arguments != null && Arrays.asList(arguments).contains(Duration.ZERO)) {
                        throw new AssertionError(method.getName() + " without time");
                    }
                    return call(directory, method, arguments);
                });
    }

    @Test
    void aNodeThatRegistersItsMemoryForLongerThanItsDeadlineJoins() {
        Duration deadline = Waits.seconds(0.3);
        Runnable pinning = () -> Waits.pass(deadline.multipliedBy(2));
        FabricProvider slow = new Watched(network.provider(), pinning, ConcurrentHashMap.newKeySet());
        try (TestCluster cluster = new TestCluster(root, slow)) {
            LiteNode node = cluster.start(cluster.withDeadline("n0", deadline), FabricTimesTest::strict);
            assertThat(node.nodes()).hasSize(1);
        }
    }

    @Test
    void aNodeThatStopsClosesItsFabricsOnlyAfterAnOperationThatOutlivesItsSession() {
        Set<String> closed = ConcurrentHashMap.newKeySet();
        try (TestCluster cluster = new TestCluster(root, new Watched(network.provider(), () -> {}, closed)).start(2)) {
            Mapping mapping = map(cluster);
            HeldMapping.hold(mapping);
            UnderWay.setEndMax(cluster.node(1), SOON);
            Thread stop = Thread.ofPlatform().start(() -> cluster.stop("n1"));
            awaitCut(cluster);
            assertThat(closed).isEmpty();

            HeldMapping.endHold(mapping);

            Waits.join(stop);
            assertThat(closed).containsExactly("n1");
        }
    }

    @Test
    void aNodeThatStopsKeepsItsFabricsWhileAnOperationDoesNotEnd() {
        Set<String> closed = ConcurrentHashMap.newKeySet();
        try (TestCluster cluster = new TestCluster(root, new Watched(network.provider(), () -> {}, closed)).start(2)) {
            Mapping mapping = map(cluster);
            HeldMapping.hold(mapping);
            UnderWay.setEndMax(cluster.node(1), SOON);
            NodeTimes.setEndMax(cluster.node(1), SOON);
            CountDownLatch stopped = new CountDownLatch(1);
            Thread stop = Thread.ofPlatform().start(() -> {
                cluster.stop("n1");
                stopped.countDown();
            });
            Waits.until("it has stopped", Waits.seconds(60), () -> stopped.getCount() == 0);
            Waits.join(stop);

            assertThat(closed).isEmpty();
            HeldMapping.endHold(mapping);
        }
    }

    /** It may write to memory of a third node that is mapped here. */
    @Test
    void aNodeThatStopsClosesItsFabricsOnlyAfterACopy() {
        Set<String> closed = ConcurrentHashMap.newKeySet();
        try (TestCluster cluster = new TestCluster(root, new Watched(network.provider(), () -> {}, closed)).start(2)) {
            LiteNode stopping = cluster.node(1);
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch copied = new CountDownLatch(1);
            Thread copy = Thread.ofPlatform()
                    .start(() -> UnderWay.asOwnWork(stopping, () -> {
                        begun.countDown();
                        Waits.await(copied);
                    }));
            Waits.await(begun);
            Thread stop = Thread.ofPlatform().start(() -> cluster.stop("n1"));
            awaitCut(cluster);
            Waits.pass(Duration.ofMillis(500));
            assertThat(closed).isEmpty();

            copied.countDown();

            Waits.join(stop);
            assertThat(closed).containsExactly("n1");
            Waits.join(copy);
        }
    }

    private static void awaitCut(TestCluster cluster) {
        Waits.until(
                "its connections are cut",
                () -> cluster.node(0).nodes().stream()
                        .noneMatch(node ->
                                node.name().equals("n1") && !node.fabric().equals("none")));
    }

    private static Mapping map(TestCluster cluster) {
        Lite owner = cluster.attach(0);
        owner.memory().malloc(LmrSpec.of(100).withName("x").withDefaultPermissions(Permission.READ));
        TierSession session = cluster.node(1).open("app", "test");
        return (Mapping) session.map("x", Set.of(Permission.READ), LONG);
    }
}
