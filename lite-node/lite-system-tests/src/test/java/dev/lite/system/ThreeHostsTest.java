package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.api.Lite;
import dev.lite.api.NodeInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;

/**
 * Three nodes on three "hosts" that have only a network between them, with the cluster secret, and the manager on a fourth.
 * Skipped where network namespaces cannot be made.
 */
class ThreeHostsTest {
    private static final int ZOOKEEPER_PORT = 2181;
    private static final long SEED = System.nanoTime();

    @TempDir
    private Path directory;

    /** For the arenas. */
    @TempDir(factory = InDevShm.class)
    private Path memory;

    /** A directory on a memory file system. */
    static final class InDevShm implements TempDirFactory {
        @Override
        public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext extension)
                throws IOException {
            return Files.createTempDirectory(Path.of("/dev/shm"), "lite-three-hosts");
        }
    }

    @Test
    void threeHostsShareMemoryOverTheirNetwork() throws IOException {
        var reason = Hosts.unavailable();
        assumeTrue(reason.isEmpty(), () -> "skipped: " + reason.orElse(""));
        System.out.println("seed " + SEED);
        Path secret = Files.writeString(directory.resolve("secret"), "the secret of three hosts\n");
        Path logs = Path.of(System.getProperty("lite.system.logs"), "ThreeHostsTest");
        try (var hosts = Hosts.make(3, logs)) {
            hosts.start(0, "manager", managerCommand(), directory.resolve("manager.ready"));
            for (int host = 1; host <= 3; host++) {
                hosts.start(host, "node-" + host, nodeCommand(host, secret), directory.resolve(host + ".ready"));
            }
            try (Lite writer = attach(1);
                    Lite reader = attach(3)) {
                awaitNodes(writer);
                TcpWorkload.run(writer, reader, "hosts/spread", SEED);
            }
        }
    }

    /** Until the first host reaches the two others over TCP. */
    private static void awaitNodes(Lite lite) {
        long end = System.nanoTime() + Clusters.seconds(30).toNanos();
        while (lite.nodes().stream().map(NodeInfo::fabric).filter("tcp"::equals).count() < 2) {
            assertThat(System.nanoTime() - end).as("%s", lite.nodes()).isNegative();
            LockSupport.parkNanos(20_000_000);
        }
    }

    private Lite attach(int host) {
        return Lite.attach(new Lite.AttachOptions(
                directory.resolve("run" + host).resolve("node.sock"), "system-test", null, Clusters.seconds(20)));
    }

    private List<String> managerCommand() {
        List<String> command = java(Clusters.managerJar(), "manager");
        command.add("--lite.manager.zookeeper.embedded=true");
        command.add("--lite.manager.zookeeper.address=" + Hosts.switchAddress());
        command.add("--lite.manager.zookeeper.port=" + ZOOKEEPER_PORT);
        command.add("--lite.manager.zookeeper.data-directory=" + directory.resolve("zookeeper"));
        return command;
    }

    private List<String> nodeCommand(int host, Path secret) {
        List<String> command = java(Clusters.nodeJar(), Integer.toString(host));
        command.add("--lite.cluster.zookeeper=%s:%d".formatted(Hosts.switchAddress(), ZOOKEEPER_PORT));
        command.add("--lite.node.name=node-" + host);
        command.add("--lite.node.arena.size=64MB");
        command.add("--lite.node.arena.directory=" + memory);
        command.add("--lite.node.arena.retain=false");
        command.add("--lite.node.run-directory=" + directory.resolve("run" + host));
        command.add("--lite.node.fabrics=tcp");
        command.add("--lite.node.tcp.bind=" + Hosts.address(host));
        command.add("--lite.node.tcp.secret-file=" + secret);
        return command;
    }

    private List<String> java(Path jar, String name) {
        return new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-jar",
                jar.toString(),
                "--server.port=0",
                "--lite.cluster.name=three-hosts",
                "--lite.ready-file=" + directory.resolve(name + ".ready"),
                "--lite.exit-with-pid=" + ProcessHandle.current().pid()));
    }
}
