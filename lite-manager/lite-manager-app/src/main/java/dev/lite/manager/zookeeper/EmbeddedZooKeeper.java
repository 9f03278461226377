package dev.lite.manager.zookeeper;

import dev.lite.cluster.process.StartException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.zookeeper.server.embedded.ExitHandler;
import org.apache.zookeeper.server.embedded.ZooKeeperServerEmbedded;
import org.jspecify.annotations.Nullable;

/**
 * A single ZooKeeper server in this process. Its data has no replica, and it is unavailable while the process is down. For
 * clusters on one machine; other clusters use an external ZooKeeper.
 */
public final class EmbeddedZooKeeper implements AutoCloseable {
    /** Half of the shortest session timeout that the server grants. */
    private static final int TICK_MS = 500;

    private static final int SESSION_TIMEOUT_MS_MAX = 60_000;

    /** All processes of the machine connect from one address, and ZooKeeper's default limit per address is 60. */
    private static final int CONNECTIONS_MAX = 1024;

    private final ZooKeeperServerEmbedded server;
    private final FileChannel lock;
    private final String connectString;
    private final AtomicBoolean closed = new AtomicBoolean();

    private EmbeddedZooKeeper(ZooKeeperServerEmbedded server, FileChannel lock, String connectString) {
        this.server = server;
        this.lock = lock;
        this.connectString = connectString;
    }

    /**
     * Starts the server and returns when it accepts connections.
     *
     * @throws StartException when the port is in use, the directory cannot be written or is in use by another process, or
     *     the server did not start in time
     */
    public static EmbeddedZooKeeper start(EmbeddedZooKeeperConfig config) {
        requireFree(config.address(), config.port());
        FileChannel lock = lockDirectory(config.dataDirectory());
        ZooKeeperServerEmbedded server = null;
        try {
            server = ZooKeeperServerEmbedded.builder()
                    .baseDir(config.dataDirectory())
                    .configuration(properties(config))
                    // Never end the process: the directory is then reported as unreachable.
                    .exitHandler(ExitHandler.LOG_ONLY)
                    .build();
            server.start(config.startTimeout().toMillis());
            String host = config.address().contains(":") ? "[" + config.address() + "]" : config.address();
            return new EmbeddedZooKeeper(server, lock, host + ":" + server.getClientPort());
        } catch (Exception e) { // declared by ZooKeeper
            closeQuietly(server, lock);
            throw new StartException(
                    "the embedded ZooKeeper on %s:%d with the data directory %s did not start within %d ms: %s"
                            .formatted(
                                    config.address(),
                                    config.port(),
                                    config.dataDirectory(),
                                    config.startTimeout().toMillis(),
                                    e),
                    "See the messages of org.apache.zookeeper above; restore or remove a damaged data directory.",
                    e);
        }
    }

    private static Properties properties(EmbeddedZooKeeperConfig config) {
        Properties properties = new Properties();
        properties.setProperty("clientPortAddress", config.address());
        properties.setProperty("clientPort", Integer.toString(config.port()));
        properties.setProperty(
                "dataDir", config.dataDirectory().toAbsolutePath().toString());
        properties.setProperty("tickTime", Integer.toString(TICK_MS));
        properties.setProperty("maxSessionTimeout", Integer.toString(SESSION_TIMEOUT_MS_MAX));
        properties.setProperty("maxClientCnxns", Integer.toString(CONNECTIONS_MAX));
        properties.setProperty("admin.enableServer", "false");
        properties.setProperty("autopurge.purgeInterval", "1");
        return properties;
    }

    /** Checks the port first, because the server would only time out. Another process may still take the port in between. */
    private static void requireFree(String address, int port) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(address, port));
        } catch (IOException e) {
            throw new StartException(
                    "the embedded ZooKeeper cannot listen on %s:%d: %s".formatted(address, port, e.getMessage()),
                    "Stop the process that uses the port, or set lite.manager.zookeeper.port (0 selects a free one) or lite.manager.zookeeper.address.",
                    e);
        }
    }

    private static FileChannel lockDirectory(Path directory) {
        FileChannel channel = null;
        try {
            Files.createDirectories(directory);
            channel = FileChannel.open(
                    directory.resolve("lite-manager.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            FileLock held = channel.tryLock();
            if (held != null) {
                return channel; // the lock is released with its channel
            }
            closeQuietly(null, channel);
            throw inUse(directory, null);
        } catch (OverlappingFileLockException e) {
            closeQuietly(null, channel);
            throw inUse(directory, e);
        } catch (IOException e) {
            closeQuietly(null, channel);
            throw new StartException(
                    "cannot write the data directory %s of the embedded ZooKeeper: %s".formatted(directory, e),
                    "Set lite.manager.zookeeper.data-directory to a directory that this user may write to.",
                    e);
        }
    }

    private static StartException inUse(Path directory, @Nullable Throwable cause) {
        return new StartException(
                "the data directory %s of the embedded ZooKeeper is in use by another process".formatted(directory),
                "Stop that process, or give this one another lite.manager.zookeeper.data-directory.",
                cause);
    }

    private static void closeQuietly(@Nullable ZooKeeperServerEmbedded server, @Nullable FileChannel lock) {
        if (server != null) {
            server.close();
        }
        if (lock != null) {
            try {
                lock.close();
            } catch (IOException e) {
                throw new java.io.UncheckedIOException("cannot close the lock of the data directory", e);
            }
        }
    }

    /** {@code host:port}, with the actual port. */
    public String connectString() {
        return connectString;
    }

    /** Stops the server; its data is kept. Idempotent. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            closeQuietly(server, lock);
        }
    }
}
