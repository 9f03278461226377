package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.NodeInfo;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Nodes {@code node-0}, {@code node-1}, … in this JVM, connected by shared memory, for one benchmark. Used by one thread. */
final class BenchNodes implements AutoCloseable {
    private static final long PAUSE_NS = 1_000_000;

    private final Path root = makeTemporary(Path.of("/dev/shm"));
    private final Path sockets = makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
    private final List<LiteNode> nodes = new ArrayList<>();

    /** @param arenaBytes the arena size of each node */
    BenchNodes(int count, long arenaBytes) {
        this(inMemory(count), arenaBytes);
    }

    /**
     * @param directories one for each node; still owned by the caller
     * @param arenaBytes the arena size of each node
     */
    BenchNodes(List<? extends ClusterDirectory> directories, long arenaBytes) {
        for (int index = 0; index < directories.size(); index++) {
            LiteNodeConfig config = LiteNodeConfig.builder(
                            "bench", "node-" + index, arenaBytes, sockets.resolve("n" + index))
                    .arena(root, false)
                    .build();
            nodes.add(LiteNode.start(config, directories.get(index), List.of(new ShmFabricProvider())));
        }
        while (nodes.stream().anyMatch(BenchNodes::isAlone)) {
            Polling.sleepNs(PAUSE_NS);
        }
    }

    private static List<ClusterDirectory> inMemory(int count) {
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        return Stream.generate(store::open)
                .limit(count)
                .map(ClusterDirectory.class::cast)
                .toList();
    }

    private static boolean isAlone(LiteNode node) {
        return node.nodes().stream().map(NodeInfo::fabric).anyMatch("none"::equals);
    }

    LiteNode node(int index) {
        return nodes.get(index);
    }

    Lite attach(int index) {
        return nodes.get(index).attach("bench");
    }

    @Override
    public void close() {
        nodes.forEach(LiteNode::close);
        delete(root);
        delete(sockets);
    }

    static Path makeTemporary(Path parent) {
        try {
            return Files.createTempDirectory(parent, "lite-bench");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create a directory in " + parent, e);
        }
    }

    static void delete(Path directory) {
        if (!Files.exists(directory)) {
            return; // the nodes removed it with their arenas
        }
        try (Stream<Path> paths = Files.walk(directory)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + directory, e);
        }
    }
}
