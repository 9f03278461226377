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
 * A single ZooKeeper server in this process: no copy of its data is kept elsewhere, and it is gone while the process is.
 * For a cluster on one machine; others use a ZooKeeper of their own.
 */
public final class EmbeddedZooKeeper implements AutoCloseable {
    /** Half of the shortest session time-out that the server grants. */
    private static final int TICK_MS = 500;

    private static final int SESSION_TIMEOUT_MS_MAX = 60_000;

    /** All processes of the machine come from one address, to which ZooKeeper's default limit of 60 applies. */
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
     * Starts the server; it accepts connections when this returns.
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
                    // Never end the process: what it serves is then reported as away.
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
                    "Look at the messages of org.apache.zookeeper above; a damaged data directory has to be restored or removed.",
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

    /** The server would only time out; so it is asked before, at the price of a gap in which somebody could be faster. */
    private static void requireFree(String address, int port) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(address, port));
        } catch (IOException e) {
            throw new StartException(
                    "the embedded ZooKeeper cannot listen on %s:%d: %s".formatted(address, port, e.getMessage()),
                    "Stop what uses that port, or set lite.manager.zookeeper.port (0 takes any free one) or lite.manager.zookeeper.address.",
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
                return channel; // the lock ends with its channel
            }
            closeQuietly(null, channel);
            throw inUse(directory, null);
        } catch (OverlappingFileLockException e) {
            closeQuietly(null, channel);
            throw inUse(directory, e);
        } catch (IOException e) {
            closeQuietly(null, channel);
            throw new StartException(
                    "the data directory %s of the embedded ZooKeeper cannot be written: %s".formatted(directory, e),
                    "Let lite.manager.zookeeper.data-directory name a directory that this user may write to.",
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
                throw new java.io.UncheckedIOException("the lock of the data directory cannot be closed", e);
            }
        }
    }

    /** {@code host:port}, with the port that it really has. */
    public String connectString() {
        return connectString;
    }

    /** Stops the server; its data stays. A second call does nothing. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            closeQuietly(server, lock);
        }
    }
}
