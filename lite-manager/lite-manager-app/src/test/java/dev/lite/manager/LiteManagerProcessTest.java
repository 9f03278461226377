package dev.lite.manager;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The manager as a process: its options, its exit status and its last messages. */
@Execution(ExecutionMode.CONCURRENT)
class LiteManagerProcessTest {
    private static final int SIGTERM_STATUS = 128 + 15;

    @TempDir
    Path directory;

    private String[] embedded(String name, String... more) {
        String[] options = new String[more.length + 2];
        options[0] = "--lite.manager.zookeeper.embedded=true";
        options[1] = "--lite.manager.zookeeper.data-directory=" + directory.resolve(name);
        System.arraycopy(more, 0, options, 2, more.length);
        return options;
    }

    @Test
    void aSecondManagerTakesOverTheLeadershipAndBothWatchTheNodes() throws IOException, InterruptedException {
        try (ManagerProcess first = new ManagerProcess(directory, "first", embedded("zk"))) {
            Properties ready = first.ready();
            assertThat(ready.getProperty("pid"))
                    .isEqualTo(Long.toString(first.process().pid()));
            String zookeeper = ready.getProperty("zookeeper");
            String health = ready.getProperty("health");
            ManagerProcess.awaitHealth(health, "\"leader\":true");
            try (ManagerProcess second = new ManagerProcess(
                            directory, "second", "--lite.cluster.zookeeper=" + zookeeper, "--lite.manager.name=other");
                    CuratorDirectory node = CuratorDirectory.open(CuratorConfig.of(zookeeper, "lite"))) {
                node.register(new NodeAdvert("node-a", NodeAdvert.NO_ID, "host", 1, Map.of()), Duration.ofSeconds(20));
                ManagerProcess.awaitHealth(health, "\"node-a\"");
                ManagerProcess.awaitHealth(health, "\"epoch\":1");
                String secondHealth = second.ready().getProperty("health");
                assertThat(ManagerProcess.awaitHealth(secondHealth, "\"node-a\""))
                        .contains("\"leader\":false")
                        .contains("\"directory\":\"available\"");

                // Without its ZooKeeper the second manager is live, but not ready.
                first.process().destroy();
                assertThat(first.awaitExit(Waits.seconds(10))).isEqualTo(SIGTERM_STATUS);
                assertThat(first.hasReadyFile()).isFalse();
                ManagerProcess.awaitHealth(secondHealth, "\"directory\":\"unreachable\"");
                assertThat(ManagerProcess.get(secondHealth + "/readiness").statusCode())
                        .isEqualTo(503);
                assertThat(ManagerProcess.get(secondHealth + "/liveness").statusCode())
                        .isEqualTo(200);
                second.process().destroy();
                assertThat(second.awaitExit(Waits.seconds(10))).isEqualTo(SIGTERM_STATUS);
            }
            assertThat(first.log())
                    .contains("membership changed nodes=[node-a] joined=[node-a(id=0,incarnation=1)] left=[]")
                    .doesNotContain("\tat ");
        }
    }

    @Test
    void aPasswordProtectsTheDirectoryAndIsNotLogged() throws IOException, InterruptedException {
        String password = "the manager's own password";
        Path file = Files.writeString(directory.resolve("password"), password + "\n");
        try (ManagerProcess first =
                new ManagerProcess(directory, "first", embedded("zk", "--lite.cluster.auth.password-file=" + file))) {
            String zookeeper = first.ready().getProperty("zookeeper");
            ManagerProcess.awaitHealth(first.ready().getProperty("health"), "\"leader\":true");

            assertRefused(
                    "other",
                    "refuses /lite/lite/ids to the user \"lite\" (NOAUTH)",
                    "--lite.cluster.zookeeper=" + zookeeper,
                    "--lite.cluster.auth.password=another");
            assertRefused(
                    "nobody",
                    "refuses /lite/lite/ids to this process, which has no user and password",
                    "--lite.cluster.zookeeper=" + zookeeper);
            try (ManagerProcess second = new ManagerProcess(
                    directory,
                    "second",
                    "--lite.cluster.zookeeper=" + zookeeper,
                    "--lite.cluster.auth.password=" + password)) {
                ManagerProcess.awaitHealth(second.ready().getProperty("health"), "\"directory\":\"available\"");
                assertThat(second.log()).doesNotContain(password);
            }
            assertThat(first.log()).doesNotContain(password);
        }
        assertRefused(
                "missing",
                "lite.cluster.auth.password-file " + directory.resolve("missing") + " cannot be read",
                embedded("missing", "--lite.cluster.auth.password-file=" + directory.resolve("missing")));
    }

    @Test
    void theManagerEndsWithItsOwnerProcess() throws IOException, InterruptedException {
        Process owner = new ProcessBuilder("sleep", "600").start();
        try (ManagerProcess manager =
                new ManagerProcess(directory, "manager", embedded("zk", "--lite.exit-with-pid=" + owner.pid()))) {
            manager.ready();

            owner.destroyForcibly();

            assertThat(manager.awaitExit(Waits.seconds(15))).isZero();
            assertThat(manager.hasReadyFile()).isFalse();
        } finally {
            owner.destroyForcibly();
        }
    }

    @Test
    void anUnusablePortOrDirectoryEndsTheStartWithOneMessageAndStatusOne() throws IOException, InterruptedException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            int port = taken.getLocalPort();
            assertRefused("web-port", "Port " + port + " ", embedded("web-port", "--server.port=" + port));
            assertRefused(
                    "zookeeper-port",
                    "127.0.0.1:%d: Address already in use".formatted(port),
                    embedded("zookeeper-port", "--lite.manager.zookeeper.port=" + port));
        }
        Path file = Files.createFile(directory.resolve("file"));
        assertRefused("directory", "data directory " + file + " of the embedded ZooKeeper", embedded("file"));
    }

    @Test
    void aMissingZooKeeperEndsTheStartWithOneMessageAndStatusOne() throws IOException, InterruptedException {
        assertRefused("nothing", "no ZooKeeper is configured");
        assertRefused(
                "unreachable",
                "ZooKeeper at 127.0.0.1:1 cannot be reached; waited 500 ms",
                "--lite.cluster.zookeeper=127.0.0.1:1",
                "--lite.manager.start-deadline=500ms");
    }

    @Test
    void anUnsafeOrInvalidSettingEndsTheStartWithOneMessageAndStatusOne() throws IOException, InterruptedException {
        assertRefused(
                "open",
                "server.address is 0.0.0.0, which is not a loopback address, and no token is configured",
                embedded("open", "--server.address=0.0.0.0"));
        assertThat(directory.resolve("open")).doesNotExist();
        assertRefused(
                "open-management",
                "management.server.port is set, management.server.address is not a loopback address, and no token is",
                embedded("open-management", "--management.server.port=0", "--management.server.address=0.0.0.0"));
        assertRefused(
                "name",
                "lite.cluster.name is \"a/b\"; it must be 1 to 63",
                embedded("name", "--lite.cluster.name=a/b"));
    }

    private void assertRefused(String name, String message, String... options)
            throws IOException, InterruptedException {
        Path reason = directory.resolve(name + ".reason");
        List<String> all = new ArrayList<>(List.of(options));
        all.add("--lite.exit-message-file=" + reason);
        try (ManagerProcess manager = new ManagerProcess(directory, name, all.toArray(String[]::new))) {
            assertThat(manager.awaitExit(ManagerProcess.START)).isEqualTo(1);
            assertThat(reason).content().contains(message);
            assertThat(manager.log())
                    .contains("APPLICATION FAILED TO START")
                    .contains(message)
                    .doesNotContain("\tat ");
            assertThat(manager.hasReadyFile()).isFalse();
        }
    }
}
