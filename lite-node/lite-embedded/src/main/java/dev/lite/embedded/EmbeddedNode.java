package dev.lite.embedded;

import dev.lite.api.Lite;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.FabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Stream;

/**
 * A node in this JVM. It serves the code that starts it, over every fabric on the class path that works here, and has no
 * socket for other applications. Any thread.
 */
public final class EmbeddedNode implements AutoCloseable {
    private final ClusterDirectory directory;
    private final LiteNode node;
    private final Path runDirectory;

    private EmbeddedNode(ClusterDirectory directory, LiteNode node, Path runDirectory) {
        this.directory = directory;
        this.node = node;
        this.runDirectory = runDirectory;
    }

    /**
     * Starts a node.
     *
     * @throws dev.lite.api.LiteException when the cluster cannot be joined within the deadline
     * @throws dev.lite.tier.memory.ArenaException when the arena cannot be made
     */
    public static EmbeddedNode start(EmbeddedNodeConfig config) {
        Path runDirectory = makeRunDirectory();
        ClusterDirectory directory = null;
        boolean started = false;
        try {
            directory = openDirectory(config);
            LiteNodeConfig nodeConfig = LiteNodeConfig.of(
                            config.cluster(), config.name(), config.arenaBytes(), runDirectory)
                    .withArena(config.arenaDirectory(), false);
            LiteNode node = LiteNode.start(nodeConfig.withDeadline(config.deadline()), directory, fabrics());
            started = true;
            return new EmbeddedNode(directory, node, runDirectory);
        } finally {
            if (!started) {
                if (directory != null) {
                    directory.close();
                }
                delete(runDirectory);
            }
        }
    }

    private static ClusterDirectory openDirectory(EmbeddedNodeConfig config) {
        String zookeeper = config.zookeeper();
        return zookeeper == null
                ? new InMemoryDirectory.Store().open()
                : CuratorDirectory.open(CuratorConfig.of(zookeeper, config.cluster()));
    }

    private static List<FabricProvider> fabrics() {
        return ServiceLoader.load(FabricProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.unavailable().isEmpty())
                .sorted(Comparator.comparing(FabricProvider::name))
                .toList();
    }

    private static Path makeRunDirectory() {
        try {
            return Files.createTempDirectory("lite-embedded");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make a run directory for an embedded node", e);
        }
    }

    /** A session; this JVM is trusted to name its principal. */
    public Lite attach(String principal) {
        return node.attach(principal);
    }

    /** The node's name. */
    public String name() {
        return node.nodeName();
    }

    /** Ends its sessions and leaves the cluster; its memory is gone. A second call does nothing. */
    @Override
    public void close() {
        node.close();
        directory.close();
        delete(runDirectory);
    }

    private static void delete(Path root) {
        if (!Files.exists(root)) {
            return;
        }
        try (Stream<Path> paths = Files.walk(root)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + root, e);
        }
    }
}
