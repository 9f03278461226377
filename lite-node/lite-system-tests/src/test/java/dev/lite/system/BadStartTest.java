package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.local.LocalCluster;
import dev.lite.local.ProcessFailedException;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A process that cannot start prints one clear message, and does not disturb others. Real processes. */
@ExtendWith(SharedClusters.Resolver.class)
class BadStartTest {
    private SharedClusters.Borrowed borrowed;
    private LocalCluster cluster;

    @TempDir
    Path directory;

    @BeforeEach
    void borrow(SharedClusters clusters) {
        borrowed = clusters.borrow("tcp"); // any will do, and fewer tests wait for this one
        cluster = borrowed.cluster();
    }

    @AfterEach
    void returnCluster() {
        borrowed.close();
    }

    @Test
    void aSecondNodeWithTheSameNameOnThisHostIsRefused() {
        Failed node = startNode(List.of("--lite.node.name=node-1"));
        assertThat(node.output())
                .contains("node-1")
                .contains(cluster.arenaDirectory().toString());
        node.assertOneClearMessage();
        assertThat(cluster.node(1).isAlive()).isTrue();
    }

    @Test
    void aSecondNodeWithTheSameNameAndOtherMemoryIsRefusedByTheDirectory() {
        Failed node = startNode(List.of(
                "--lite.node.name=node-1",
                "--lite.node.arena.directory=" + directory.resolve("arenas"),
                "--lite.node.deadline=5s"));
        assertThat(node.output()).contains("node-1").contains("registered already");
        node.assertOneClearMessage();
        assertThat(cluster.node(1).isAlive()).isTrue();
    }

    @Test
    void aNodeWithoutZooKeeperReportsTheAddressItTried() throws IOException {
        int port = freePort();
        Failed node = startNode(List.of(
                "--lite.node.name=lonely", "--lite.cluster.zookeeper=127.0.0.1:" + port, "--lite.node.deadline=2s"));
        assertThat(node.output()).contains("127.0.0.1:" + port);
        node.assertOneClearMessage();
    }

    @Test
    void anArenaThatDoesNotFitReportsTheFreeSpace() {
        Failed node = startNode(List.of("--lite.node.name=large", "--lite.node.arena.size=900GB"));
        assertThat(node.output())
                .contains("/large/arena")
                .contains("Free space")
                .contains("bytes");
        node.assertOneClearMessage();
    }

    @Test
    void aPortInUseIsReported() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Failed node = startNode(List.of("--lite.node.name=port", "--server.port=" + taken.getLocalPort()));
            assertThat(node.output()).contains(Integer.toString(taken.getLocalPort()));
            node.assertOneClearMessage();
        }
    }

    @Test
    void aSocketInUseIsReported() {
        Failed node = startNode(List.of("--lite.node.name=socket", "--lite.node.socket=" + cluster.socket(1)));
        assertThat(node.output()).contains(cluster.socket(1).toString());
        node.assertOneClearMessage();
    }

    @Test
    void aClusterWhoseNodeCannotStartReportsTheNodesOutput() {
        LocalCluster broken = Clusters.builder("BadStartTest-broken")
                .nodes(1)
                .arenaBytes(16 << 20)
                .nodeProperty("lite.node.fabrics", "carrier-pigeon")
                .build();
        try (broken) {
            broken.startManager();
            assertThatThrownBy(() -> broken.startNode(1))
                    .isInstanceOf(ProcessFailedException.class)
                    .hasMessageContaining("carrier-pigeon");
        }
        assertThat(broken.arenaDirectory()).doesNotExist();
    }

    /** A process that has ended by itself. */
    private record Failed(int status, String output) {
        void assertOneClearMessage() {
            assertThat(status).as(output).isEqualTo(1);
            assertThat(output).doesNotContain("\tat ").doesNotContain("Exception in thread");
        }
    }

    private Failed startNode(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx256m",
                "-XX:+UseSerialGC"));
        command.addAll(Clusters.nodeOptions());
        command.addAll(List.of("-jar", Clusters.nodeJar().toString()));
        List.of(
                        "--lite.cluster.name=" + cluster.name(),
                        "--lite.cluster.zookeeper=" + cluster.zookeeper(),
                        "--lite.cluster.secret=" + SharedClusters.SECRET,
                        "--lite.node.arena.size=16MB",
                        "--lite.node.arena.directory="
                                + cluster.arenaDirectory().getParent(),
                        "--lite.node.run-directory=" + directory.resolve("run"),
                        "--server.port=0")
                .stream()
                .filter(usual ->
                        arguments.stream().noneMatch(given -> key(given).equals(key(usual))))
                .forEach(command::add);
        command.addAll(arguments);
        Path log = directory.resolve("out.log");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            try {
                boolean ended = process.waitFor(Waits.seconds(60).toMillis(), TimeUnit.MILLISECONDS);
                assertThat(ended)
                        .as("it ended by itself: %s", Files.readString(log))
                        .isTrue();
                return new Failed(process.exitValue(), Files.readString(log));
            } finally {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    private static String key(String argument) {
        return argument.substring(0, argument.indexOf('='));
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
