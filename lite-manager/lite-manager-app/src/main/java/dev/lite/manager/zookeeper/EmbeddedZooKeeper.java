package dev.lite.manager.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.cluster.process.StartException;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.server.PurgeTxnLog;
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

    /** Between two looks at the server. While they find that it has ended, each pause is twice as long as the last one. */
    private static final int LOOK_MS = 2000;

    private static final int LOOK_MS_MAX = 64_000;

    private static final int PURGE_MS = 3_600_000;
    /** Snapshots that remain, with the log since the oldest of them. The smallest number that ZooKeeper permits. */
    private static final int SNAPSHOTS = 3;

    private static final Logger log = LoggerFactory.getLogger(EmbeddedZooKeeper.class);

    private final EmbeddedZooKeeperConfig config;
    private final FileChannel lock;
    private final int port;
    private final ScheduledExecutorService care = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("lite-zookeeper").factory());

    @GuardedBy("this")
    private @Nullable ZooKeeperServerEmbedded server;

    @GuardedBy("this")
    private boolean closed;

    @GuardedBy("this")
    private int lookMs = LOOK_MS;

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
            zooKeeper.lookLater();
            zooKeeper.purgeLater();
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
            deleteConfigurations(config.dataDirectory());
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

    /** Each start makes one and leaves it. */
    private static void deleteConfigurations(Path directory) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "zookeeper.configuration*.properties")) {
            for (Path file : files) {
                Files.delete(file);
            }
        }
    }

    private synchronized void lookLater() {
        if (!closed) {
            Object unused = care.schedule(this::look, lookMs, TimeUnit.MILLISECONDS);
        }
    }

    private void look() {
        try {
            revive();
        } catch (RuntimeException | Error e) { // for example no memory for a thread; the next attempt follows
            log.warn("the embedded ZooKeeper at {} does not start again yet: {}", connectString(), e.toString());
        }
        lookLater();
    }

    /** Starts a server that has ended again. */
    private synchronized void revive() {
        if (closed) {
            return;
        }
        if (isListening()) {
            lookMs = LOOK_MS;
            return;
        }
        lookMs = Math.min(2 * lookMs, LOOK_MS_MAX);
        if (server != null) {
            log.error(
                    "the embedded ZooKeeper at {} has ended, as on a full disk; see the messages of org.apache.zookeeper. It is started again",
                    connectString());
            server.close();
            server = null;
        }
        server = run(config, port);
        log.info("the embedded ZooKeeper at {} was started again", connectString());
    }

    private void purgeLater() {
        Object unused = care.scheduleWithFixedDelay(this::purge, PURGE_MS, PURGE_MS, TimeUnit.MILLISECONDS);
    }

    /** Deletes what newer snapshots replace. ZooKeeper's own thread for that would stay when its server has ended. */
    private void purge() {
        try {
            File data = config.dataDirectory().toFile();
            PurgeTxnLog.purge(data, data, SNAPSHOTS);
        } catch (IOException | RuntimeException e) {
            log.warn("old files of the embedded ZooKeeper in {} remain: {}", config.dataDirectory(), e.toString());
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
        properties.setProperty("autopurge.purgeInterval", "0");
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
    public synchronized void close() {
        if (!closed) {
            closed = true;
            care.shutdownNow(); // no start is under way: it would have the lock
            closeQuietly(server, lock);
        }
    }
}
