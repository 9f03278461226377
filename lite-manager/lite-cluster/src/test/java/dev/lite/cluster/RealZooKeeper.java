package dev.lite.cluster;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.zookeeper.server.embedded.ExitHandler;
import org.apache.zookeeper.server.embedded.ZooKeeperServerEmbedded;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A ZooKeeper server in this process, for all tests of the class that registers this extension. A test can stop it and start it
 * again; it keeps its data and its port.
 */
final class RealZooKeeper implements BeforeAllCallback, AfterAllCallback {
    static final int TICK_MS = 200;

    private Path directory = Path.of("");
    private int port;
    private @Nullable ZooKeeperServerEmbedded server;

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        directory = Files.createTempDirectory("lite-zookeeper");
        start();
    }

    @Override
    public void afterAll(ExtensionContext context) throws IOException {
        stop();
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    String connectString() {
        return "127.0.0.1:" + port;
    }

    /** Opens a session, which the caller closes. It waits for a connection for 1 s, scaled. */
    CuratorDirectory open(String cluster, Duration sessionTimeout) {
        return CuratorDirectory.open(new CuratorConfig(connectString(), cluster, sessionTimeout, Waits.seconds(1)));
    }

    void start() {
        Properties properties = new Properties();
        properties.setProperty("clientPort", Integer.toString(port));
        properties.setProperty("clientPortAddress", "127.0.0.1");
        properties.setProperty("tickTime", Integer.toString(TICK_MS));
        // Else it grants at most 20 ticks.
        properties.setProperty(
                "maxSessionTimeout", Long.toString(Waits.seconds(60).toMillis()));
        properties.setProperty("admin.enableServer", "false");
        // No test simulates a power failure, so nothing needs to be flushed to the disk.
        properties.setProperty("forceSync", "no");
        try {
            ZooKeeperServerEmbedded started = ZooKeeperServerEmbedded.builder()
                    .baseDir(directory)
                    .configuration(properties)
                    .exitHandler(ExitHandler.LOG_ONLY)
                    .build();
            started.start(Waits.seconds(20).toMillis());
            port = started.getClientPort();
            server = started;
        } catch (Exception e) { // declared by ZooKeeper
            throw new IllegalStateException("ZooKeeper did not start in " + directory, e);
        }
    }

    void stop() {
        ZooKeeperServerEmbedded running = server;
        server = null;
        if (running != null) {
            running.close();
        }
    }
}
