package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Placement;
import dev.lite.embedded.EmbeddedNode;
import dev.lite.embedded.EmbeddedNodeConfig;
import dev.lite.local.LocalCluster;
import dev.lite.local.LocalClusterBuilder;
import dev.lite.local.LocalProcess;
import dev.lite.local.ProcessFailedException;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The life of a release of the Helm chart, with processes in the place of pods and the chart's properties: installed in any order,
 * scaled, restarted node by node, and uninstalled. What happens to a node that is killed is in {@link CrashRecoveryTest} and {@link
 * FaultsTest}; applications that outlive their node are in {@link ApplicationOutlivesNodeTest}; containers with roots and users of
 * their own are in the module lite-images; upgrades are in {@link UpgradeTest}.
 */
class ChartLifeTest {
    private static final long SEED = Long.getLong("lite.test.seed", System.nanoTime());
    private static final String SECRET = "the secret of the chart";
    private static final String TOKEN = "the-token-of-the-chart";
    private static final int NODES = 5;

    @TempDir
    Path directory;

    /** As the chart configures nodes; hosts reach each other over TCP. */
    private static LocalClusterBuilder release(String test, int nodes) {
        return Clusters.builder(test)
                .nodes(nodes)
                .arenaBytes(64 << 20)
                .fabrics("tcp")
                .nodeProperty("lite.node.tcp.secret", SECRET)
                .nodeProperty("lite.node.management.token", TOKEN)
                .nodeProperty("lite.node.drain-timeout", "60s")
                .property("lite.cluster.session-timeout", "6s")
                .property("lite.cluster.secret", SECRET)
                .property("lite.cluster.auth.password", "of the chart")
                .stopDeadline(Waits.seconds(90));
    }

    @Test
    void podsStartInAnyOrderAndTryAgainUntilTheClusterIsThere() {
        try (ZooKeepers zooKeepers = ZooKeepers.start(directory, 1);
                LocalCluster cluster = release("ChartLifeTest-order", 2)
                        .zookeeper(zooKeepers.connectString())
                        .nodeProperty("lite.node.deadline", "3s")
                        .nodeProperty(
                                "lite.exit-message-file",
                                directory.resolve("message").toString())
                        .build()) {
            zooKeepers.kill(1);
            // A pod before ZooKeeper: it ends with a message, and the kubelet starts it again.
            assertThatThrownBy(() -> cluster.startNode(1)).isInstanceOf(ProcessFailedException.class);
            assertThat(directory.resolve("message"))
                    .content()
                    .contains("ZooKeeper at " + zooKeepers.connectString())
                    .contains("Start ZooKeeper, or correct lite.cluster.zookeeper");
            zooKeepers.launch(1);
            zooKeepers.awaitServing();
            // Nodes before any manager.
            cluster.startNode(2);
            cluster.startNode(1);
            try (Lite lite = Clusters.attach(cluster, 1)) {
                awaitConnected(lite, "node-2");
                LmrHandle handle = lite.memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("node-2")));
                assertThat(handle.fetchAdd(0, 1)).isZero();
                cluster.startManager();
                Waits.until(
                        "the manager has both nodes",
                        Waits.seconds(30),
                        () -> Health.of(cluster.manager()).contains("\"nodes\":[\"node-2\",\"node-1\"]"));
                assertThat(handle.fetchAdd(0, 1)).isEqualTo(1);
                handle.free();
            }
        }
    }

    @Test
    void fiveNodesRestartOneByOneUnderLoadAndASixthIsAdded() throws IOException {
        System.out.println("seed " + SEED);
        try (LocalCluster cluster = release("ChartLifeTest-rolling", NODES + 1).build()) {
            cluster.startManager();
            IntStream.rangeClosed(1, NODES).forEach(cluster::startNode);
            EmbeddedNodeConfig config = EmbeddedNodeConfig.builder()
                    .zookeeper(cluster.zookeeper())
                    .cluster(cluster.name())
                    .name("load")
                    .secret(SECRET)
                    .user(new EmbeddedNodeConfig.User("lite", "of the chart"))
                    .deadline(Waits.seconds(30)) // it covers the wait for a move, too, beside other tests
                    .arenaBytes(32 << 20)
                    .build();
            try (EmbeddedNode node = EmbeddedNode.start(config);
                    Lite lite = node.attach("load")) {
                String[] names = IntStream.rangeClosed(1, NODES)
                        .mapToObj(LocalCluster::nodeName)
                        .toArray(String[]::new);
                Stream.of(names).forEach(name -> awaitConnected(lite, name));
                try (CheckedLoad load = new CheckedLoad(lite, SEED, names)) {
                    for (int number = 1; number <= NODES; number++) {
                        preStop(cluster.node(number));
                        assertThat(cluster.stop(number))
                                .as("node-%d ends by SIGTERM", number)
                                .isTrue();
                        cluster.startNode(number);
                        awaitConnected(lite, LocalCluster.nodeName(number));
                        assertThat(load.failures()).isEmpty();
                    }
                    cluster.startNode(NODES + 1);
                    awaitConnected(lite, LocalCluster.nodeName(NODES + 1));
                    LmrHandle added = lite.memory()
                            .malloc(LmrSpec.of(4096).withPlacement(Placement.on(LocalCluster.nodeName(NODES + 1))));
                    assertThat(added.fetchAdd(0, 1)).isZero();
                    added.free();
                    load.check();
                    System.out.printf("%s, no failure%n", load.counts());
                }
            }
        }
    }

    /** The hook of a pod, with the command of the image. */
    private static void preStop(LocalProcess node) throws IOException {
        String health = node.health().orElseThrow();
        ProcessBuilder hook = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx16m",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        Clusters.nodeJar().toString(),
                        "dev.lite.node.DrainCommand",
                        health.substring(0, health.lastIndexOf('/')) + "/litedrain",
                        Long.toString(Waits.seconds(70).toSeconds()))
                .redirectErrorStream(true);
        hook.environment().put("LITE_NODE_MANAGEMENT_TOKEN", TOKEN);
        Process process = hook.start();
        String said;
        try {
            assertThat(process.waitFor(Waits.seconds(90).toMillis(), TimeUnit.MILLISECONDS))
                    .as("the hook ends")
                    .isTrue();
            said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).as("%s is empty: %s", node.name(), said).isZero();
    }

    @Test
    void onlyTheArenasOfTheHostsStayAfterTheLastNodeAndNoneIfTheyAreNotRetained() throws IOException {
        for (boolean retain : new boolean[] {true, false}) {
            try (LocalCluster cluster = release("ChartLifeTest-uninstall", 1)
                    .retainArenas(retain)
                    .nodeProperty("lite.node.drain-timeout", "1s")
                    .build()) {
                cluster.startManager();
                cluster.startNode(1);
                Path socket = cluster.socket(1);
                assertThat(socket).exists();
                assertThat(files(cluster.arenaDirectory())).isNotEmpty();
                assertThat(cluster.stop(1)).isTrue();
                assertThat(socket).doesNotExist();
                assertThat(files(cluster.arenaDirectory()).isEmpty())
                        .as("nothing stays")
                        .isNotEqualTo(retain);
            }
        }
    }

    private static List<Path> files(Path directory) throws IOException {
        if (Files.notExists(directory)) {
            return List.of();
        }
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(Files::isRegularFile).toList();
        }
    }

    private static void awaitConnected(Lite lite, String name) {
        Waits.until(
                "the connection to " + name,
                Waits.seconds(60),
                () -> lite.nodes().stream().anyMatch(node -> isConnected(node, name)));
    }

    private static boolean isConnected(NodeInfo node, String name) {
        return node.name().equals(name) && !node.fabric().equals("none");
    }
}
