package dev.lite.embedded;

import dev.lite.api.Lite;
import dev.lite.api.Priority;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.fabric.FabricProvider;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.peer.FabricSelection;
import dev.lite.tier.qos.QosStatus;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node in this JVM. It serves only this process, and has no socket for other applications. It uses the fabrics on the class
 * path that work on this host. Its memory is lost when the process ends, for whatever reason. Any thread. The caller owns the
 * node and closes it; closing also ends the sessions of {@link #attach}.
 */
public final class EmbeddedNode implements AutoCloseable {
    /** How long a closing node may move memory to other nodes. */
    public static final Duration DRAIN = Duration.ofSeconds(10);

    private static final int SECRET_BYTES = 32;

    private static final Logger log = LoggerFactory.getLogger(EmbeddedNode.class);
    private final ClusterDirectory directory;
    private final LiteNode node;
    private final RunDirectory runDirectory;
    private final AtomicBoolean closed = new AtomicBoolean();
    /** A second close waits for the first one, which may still move memory. */
    private final Object draining = new Object();

    private EmbeddedNode(ClusterDirectory directory, LiteNode node, RunDirectory runDirectory) {
        this.directory = directory;
        this.node = node;
        this.runDirectory = runDirectory;
    }

    /**
     * Starts a node.
     *
     * @throws dev.lite.api.LiteException if the cluster cannot be joined within the deadline
     * @throws dev.lite.tier.memory.ArenaException if the arena cannot be created
     * @throws dev.lite.fabric.FabricException if the required fabric cannot be used, with the reason
     * @throws IllegalArgumentException if there is no fabric with the configured name
     */
    public static EmbeddedNode start(EmbeddedNodeConfig config) {
        return start(config, () -> openDirectory(config));
    }

    /** {@link #start(EmbeddedNodeConfig)} with a directory, which the node closes. */
    static EmbeddedNode start(EmbeddedNodeConfig config, Supplier<? extends ClusterDirectory> directories) {
        RunDirectory runDirectory = RunDirectory.create();
        ClusterDirectory directory = null;
        boolean started = false;
        try {
            directory = directories.get();
            LiteNodeConfig.Builder nodeConfig = LiteNodeConfig.builder(
                            config.cluster(), config.name(), config.arenaBytes(), runDirectory.path())
                    .arena(config.arenaDirectory(), ArenaConfig.Kept.NEVER)
                    .deadline(config.deadline());
            String secret = secret(config);
            List<FabricProvider> fabrics = fabrics(config, secret);
            for (FabricProvider fabric : fabrics) {
                nodeConfig.fabricOptions(fabric.name(), options(fabric.name(), secret));
            }
            LiteNode node = LiteNode.start(nodeConfig.build(), directory, fabrics);
            started = true;
            return new EmbeddedNode(directory, node, runDirectory);
        } finally {
            if (!started) {
                if (directory != null) {
                    directory.close();
                }
                runDirectory.close();
            }
        }
    }

    private static ClusterDirectory openDirectory(EmbeddedNodeConfig config) {
        String zookeeper = config.zookeeper();
        if (zookeeper == null) {
            return new InMemoryDirectory.Store().open();
        }
        EmbeddedNodeConfig.User user = config.user();
        return CuratorDirectory.open(CuratorConfig.of(zookeeper, config.cluster())
                .withCredentials(user == null ? null : new CuratorConfig.Credentials(user.name(), user.password()))
                .withSigning(CuratorConfig.Signing.of("lite.embedded", config.secret(), null, false)));
    }

    /** A cluster of this process alone needs a secret that nobody else knows. */
    private static @Nullable String secret(EmbeddedNodeConfig config) {
        return config.secret() == null && config.zookeeper() == null ? newSecret() : config.secret();
    }

    /** A secret that cannot be guessed. */
    static String newSecret() {
        byte[] random = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(random);
        return HexFormat.of().formatHex(random);
    }

    private static List<FabricProvider> fabrics(EmbeddedNodeConfig config, @Nullable String secret) {
        Map<String, FabricProvider> known = new HashMap<>();
        // First not by the context class loader: that of any thread need not know the drivers.
        ServiceLoader.load(FabricProvider.class, EmbeddedNode.class.getClassLoader())
                .forEach(provider -> known.put(provider.name(), provider));
        ServiceLoader.load(FabricProvider.class).forEach(provider -> known.putIfAbsent(provider.name(), provider));
        FabricSelection chosen =
                FabricSelection.of(config.fabric(), config.require(), List.of(), name -> unusable(name, known, secret));
        log.info("fabrics {}", chosen.describe());
        return chosen.names().stream().map(name -> named(name, known)).toList();
    }

    private static Optional<String> unusable(String name, Map<String, FabricProvider> known, @Nullable String secret) {
        FabricProvider driver = known.get(name);
        if (driver == null) {
            return Optional.of("its driver is not on the class path");
        }
        return !name.equals("shm") && secret == null
                ? Optional.of("it needs the cluster's secret")
                : driver.unavailable();
    }

    private static FabricProvider named(String name, Map<String, FabricProvider> known) {
        FabricProvider driver = known.get(name);
        if (driver == null) {
            throw new IllegalArgumentException(
                    "the driver of fabric %s is not on the class path; it has %s".formatted(name, known.keySet()));
        }
        return driver;
    }

    /** Shared memory needs no secret: the peer's credentials are known. */
    private static Map<String, String> options(String fabric, @Nullable String secret) {
        return secret == null || fabric.equals("shm") ? Map.of() : Map.of("secret", secret);
    }

    /**
     * Opens a session as this principal; the node trusts the caller to name it. The caller closes it.
     *
     * @throws IllegalArgumentException if the principal's name is not one that {@link
     *     dev.lite.api.LmrHandle#grant} takes: it is blank, is longer than 512 bytes of UTF-8, contains a
     *     control character, or is no valid Unicode
     */
    public Lite attach(String principal) {
        return node.attach(principal);
    }

    /** {@link #attach(String)}; the operations of the session have at most this priority. */
    public Lite attach(String principal, Priority priority) {
        return node.attach(principal, Objects.requireNonNull(priority, "priority"));
    }

    /**
     * Sets the node's policy for quality of service. It lasts until the cluster's policy changes.
     *
     * @throws IllegalArgumentException if this node cannot follow it; the former policy stays
     */
    public void setQos(QosPolicy policy) {
        QosPolicy unused = node.qos().set(Objects.requireNonNull(policy, "policy"));
    }

    /** The node's policy for quality of service, and its effect now. */
    public QosStatus qos() {
        return node.qos().status();
    }

    /** For tests. */
    LiteNode node() {
        return node;
    }

    /** The node's name. */
    public String name() {
        return node.nodeName();
    }

    /**
     * Moves the node's memory to other nodes that have room, for at most {@link #DRAIN}. Then ends its sessions and leaves the
     * cluster. Memory that was not moved is lost. A second call does nothing, but waits for the first one.
     */
    @Override
    public void close() {
        synchronized (draining) {
            if (closed.compareAndSet(false, true)) {
                node.drain(DRAIN).ifPresent(reason -> log.info("memory of {} is lost: {}", node.nodeName(), reason));
            }
        }
        closeAtOnce();
    }

    /** {@link #close} that moves no memory. */
    void closeAtOnce() {
        closed.set(true);
        node.close();
        directory.close();
        runDirectory.close();
    }
}
