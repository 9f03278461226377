package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.embedded.EmbeddedNode;
import dev.lite.embedded.EmbeddedNodeConfig;
import dev.lite.local.LocalCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every node is stopped by SIGTERM and started again, one after the other, while an application at another node works. */
class RollingRestartTest {
    private static final long SEED = Long.getLong("lite.test.seed", System.nanoTime());
    private static final int NODES = 3;
    private static final long POLL_NS = 5_000_000;

    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void noOperationFailsAndNoByteIsLost(String fabric) throws IOException {
        System.out.println("seed " + SEED);
        String test = "RollingRestartTest-" + fabric;
        try (LocalCluster cluster = Clusters.builder(test)
                .nodes(NODES)
                .fabrics(fabric)
                .retainArenas(true)
                .stopDeadline(Clusters.seconds(40))
                .build()) {
            cluster.startManager();
            cluster.startNodes();
            EmbeddedNodeConfig config = EmbeddedNodeConfig.builder()
                    .arenaBytes(64 << 20)
                    .zookeeper(cluster.zookeeper())
                    .cluster(cluster.name())
                    .build();
            try (EmbeddedNode node = EmbeddedNode.start(config);
                    Lite lite = node.attach("load")) {
                for (int number = 1; number <= NODES; number++) {
                    awaitConnected(lite, number);
                }
                try (CheckedLoad load = new CheckedLoad(lite, SEED, "node-1", "node-2", "node-3")) {
                    for (int number = 1; number <= NODES; number++) {
                        load.lock(lockAt(cluster, number));
                    }
                    for (int number = 1; number <= NODES; number++) {
                        restart(cluster, lite, load, number);
                    }
                    load.check();
                    System.out.printf("%s: %s, no failure%n", fabric, load.counts());
                }
            }
            for (int number = 1; number <= NODES; number++) {
                String log = Files.readString(
                        Path.of(System.getProperty("lite.system.logs"), test, "node-%d.log".formatted(number)));
                assertThat(log).contains("node leaves name=node-" + number).contains("memory=empty");
            }
        }
    }

    /** A lock whose word lies at a node: there it is used first. */
    private static String lockAt(LocalCluster cluster, int number) {
        String name = "load/lock-" + number;
        try (Lite there = Clusters.attach(cluster, number)) {
            there.sync().lock(name).acquire(Clusters.seconds(10)).close();
        }
        return name;
    }

    private static void restart(LocalCluster cluster, Lite lite, CheckedLoad load, int number) {
        long before = sum(load);
        long startNs = System.nanoTime();
        assertThat(cluster.stop(number)).as("node-%d ends by SIGTERM", number).isTrue();
        long stoppedNs = System.nanoTime();
        cluster.startNode(number);
        awaitConnected(lite, number);
        System.out.printf(
                "node-%d: left in %d ms, back after %d ms, %d operations meanwhile%n",
                number,
                (stoppedNs - startNs) / 1_000_000,
                (System.nanoTime() - startNs) / 1_000_000,
                sum(load) - before);
        assertThat(load.failures()).isEmpty();
    }

    private static long sum(CheckedLoad load) {
        return load.counts().values().stream().mapToLong(Long::longValue).sum();
    }

    private static void awaitConnected(Lite lite, int number) {
        String name = LocalCluster.nodeName(number);
        until(
                "the connection to " + name,
                () -> lite.nodes().stream()
                        .anyMatch(node ->
                                node.name().equals(name) && !node.fabric().equals("none")));
    }

    private static void until(String what, BooleanSupplier condition) {
        long endNs = System.nanoTime() + Clusters.seconds(60).toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - endNs > 0) {
                throw new AssertionError("not within the time: " + what);
            }
            LockSupport.parkNanos(POLL_NS);
        }
    }
}
