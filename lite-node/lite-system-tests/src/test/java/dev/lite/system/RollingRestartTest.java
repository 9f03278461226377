package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.embedded.EmbeddedNode;
import dev.lite.embedded.EmbeddedNodeConfig;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every node is stopped by SIGTERM and started again, one after the other, while an application at another node works. */
@ExtendWith(SharedClusters.Resolver.class)
class RollingRestartTest {
    private static final long SEED = Long.getLong("lite.test.seed", System.nanoTime());
    private static final int NODES = SharedClusters.NODES;

    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void noOperationFailsAndNoByteIsLost(String fabric, SharedClusters clusters) throws IOException {
        System.out.println("seed " + SEED);
        try (SharedClusters.Borrowed borrowed = clusters.borrow(fabric)) {
            LocalCluster cluster = borrowed.cluster();
            EmbeddedNodeConfig config =
                    borrowed.embedded("embedded").arenaBytes(64 << 20).build();
            List<String> before = logs(borrowed);
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
            List<String> after = logs(borrowed);
            for (int number = 1; number <= NODES; number++) {
                String log =
                        after.get(number - 1).substring(before.get(number - 1).length());
                assertThat(log).contains("node leaves name=node-" + number).contains("memory=empty");
            }
        }
    }

    private static List<String> logs(SharedClusters.Borrowed borrowed) throws IOException {
        List<String> logs = new ArrayList<>();
        for (int number = 1; number <= NODES; number++) {
            logs.add(Files.readString(
                    Path.of(System.getProperty("lite.system.logs"), borrowed.logs(), "node-%d.log".formatted(number))));
        }
        return logs;
    }

    /** A lock with this node as its home, because it is used there first. */
    private static String lockAt(LocalCluster cluster, int number) {
        String name = "load/lock-" + number;
        try (Lite there = Clusters.attach(cluster, number)) {
            there.sync().lock(name).acquire(Waits.seconds(10)).close();
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
        Waits.until(
                "the connection to " + name,
                Waits.seconds(60),
                () -> lite.nodes().stream()
                        .anyMatch(node ->
                                node.name().equals(name) && !node.fabric().equals("none")));
    }
}
