package dev.lite.cluster;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.zookeeper.server.embedded.ExitHandler;
import org.apache.zookeeper.server.embedded.ZooKeeperServerEmbedded;
import org.jspecify.annotations.Nullable;

/** A ZooKeeper server in this process that can be stopped and started again with its data and its port. */
final class RealZooKeeper implements AutoCloseable {
    static final int TICK_MS = 200;

    private final Path directory;
    private int port;
    private @Nullable ZooKeeperServerEmbedded server;

    RealZooKeeper(Path directory) {
        this.directory = directory;
        start();
    }

    String connectString() {
        return "127.0.0.1:" + port;
    }

    void start() {
        Properties properties = new Properties();
        properties.setProperty("clientPort", Integer.toString(port));
        properties.setProperty("clientPortAddress", "127.0.0.1");
        properties.setProperty("tickTime", Integer.toString(TICK_MS));
        properties.setProperty("admin.enableServer", "false");
        try {
            ZooKeeperServerEmbedded started = ZooKeeperServerEmbedded.builder()
                    .baseDir(Files.createDirectories(directory))
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

    @Override
    public void close() {
        stop();
    }
}
