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
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.server.embedded.ExitHandler;
import org.apache.zookeeper.server.embedded.ZooKeeperServerEmbedded;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A single ZooKeeper server in this process. Its data has no replica, and it is unavailable while the process is down. For
 * clusters on one machine; other clusters use an external ZooKeeper.
 *
 * <p>A server that cannot write, such as on a full disk, ends. A thread starts it again as soon as it can.
 */
public final class EmbeddedZooKeeper implements AutoCloseable {
    /** Half of the shortest session timeout that the server grants. */
    private static final int TICK_MS = 500;

    private static final int SESSION_TIMEOUT_MS_MAX = 60_000;

    /** All processes of the machine connect from one address, and ZooKeeper's default limit per address is 60. */
    private static final int CONNECTIONS_MAX = 1024;

    /** Between two looks at the server, and between two attempts to start it again. */
    private static final int REVIVAL_MS = 2000;

    private static final Logger log = LoggerFactory.getLogger(EmbeddedZooKeeper.class);

    private final EmbeddedZooKeeperConfig config;
    private final FileChannel lock;
    private final int port;
    private final ScheduledExecutorService revival = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("lite-zookeeper").factory());

    private @Nullable ZooKeeperServerEmbedded server; // guarded by this
    private boolean closed; // guarded by this

    private EmbeddedZooKeeper(EmbeddedZooKeeperConfig config, FileChannel lock, ZooKeeperServerEmbedded server) {
        this.config = config;
        this.lock = lock;
        this.server = server;
        port = server.getClientPort();
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
        boolean started = false;
        try {
            EmbeddedZooKeeper zooKeeper = new EmbeddedZooKeeper(config, lock, run(config, config.port()));
            zooKeeper.watch();
            started = true;
            return zooKeeper;
        } finally {
            if (!started) {
                closeQuietly(null, lock);
            }
        }
    }

    private static ZooKeeperServerEmbedded run(EmbeddedZooKeeperConfig config, int port) {
        ZooKeeperServerEmbedded server = null;
        try {
            server = ZooKeeperServerEmbedded.builder()
                    .baseDir(config.dataDirectory())
                    .configuration(properties(config, port))
                    // Never end the process: the directory is unreachable until the server runs again.
                    .exitHandler(ExitHandler.LOG_ONLY)
                    .build();
            server.start(config.startTimeout().toMillis());
            return server;
        } catch (Exception e) { // declared by ZooKeeper
            closeQuietly(server, null);
            throw new StartException(
                    "the embedded ZooKeeper on %s:%d with the data directory %s did not start within %d ms: %s"
                            .formatted(
                                    config.address(),
                                    port,
                                    config.dataDirectory(),
                                    config.startTimeout().toMillis(),
                                    e),
                    "See the messages of org.apache.zookeeper above; restore or remove a damaged data directory.",
                    e);
        }
    }

    private void watch() {
        Object unused = revival.scheduleWithFixedDelay(this::revive, REVIVAL_MS, REVIVAL_MS, TimeUnit.MILLISECONDS);
    }

    /** Starts a server that has ended again. */
    private synchronized void revive() {
        if (closed || isListening()) {
            return;
        }
        try {
            if (server != null) {
                log.error(
                        "the embedded ZooKeeper at {} has ended, as on a full disk; see the messages of org.apache.zookeeper. It is started again",
                        connectString());
                server.close();
                server = null;
            }
            server = run(config, port);
            log.info("the embedded ZooKeeper at {} runs again", connectString());
        } catch (RuntimeException e) { // the next attempt follows
            log.warn("the embedded ZooKeeper at {} does not start again yet: {}", connectString(), e.getMessage());
        }
    }

    /** A server that has ended does not listen any more; one that is busy does. */
    private boolean isListening() {
        try {
            bind(config.address(), port);
            return false;
        } catch (IOException inUse) {
            return true;
        }
    }

    private static Properties properties(EmbeddedZooKeeperConfig config, int port) {
        Properties properties = new Properties();
        properties.setProperty("clientPortAddress", config.address());
        properties.setProperty("clientPort", Integer.toString(port));
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
        try {
            bind(address, port);
        } catch (IOException e) {
            throw new StartException(
                    "the embedded ZooKeeper cannot listen on %s:%d: %s".formatted(address, port, e.getMessage()),
                    "Stop the process that uses the port, or set lite.manager.zookeeper.port (0 selects a free one) or lite.manager.zookeeper.address.",
                    e);
        }
    }

    /** Listens at a port for a moment. */
    private static void bind(String address, int port) throws IOException {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(address, port));
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
        String host = config.address().contains(":") ? "[" + config.address() + "]" : config.address();
        return host + ":" + port;
    }

    /** Stops the server; its data is kept. Idempotent. */
    @Override
    public void close() {
        revival.shutdownNow(); // interrupts a start
        synchronized (this) {
            if (!closed) {
                closed = true;
                closeQuietly(server, lock);
            }
        }
    }
}
