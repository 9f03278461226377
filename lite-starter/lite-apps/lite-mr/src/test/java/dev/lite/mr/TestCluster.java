package dev.lite.mr;

import dev.lite.api.Lite;
import dev.lite.api.NodeInfo;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Nodes in this JVM, with sockets for applications, and workers: in this JVM or in processes of their own. One thread. */
public final class TestCluster implements AutoCloseable {
    static final String GROUP = "test";
    private static final Duration END = Waits.seconds(20);

    private final Path arenas;
    private final Path sockets;
    private final List<LiteNode> nodes = new ArrayList<>();
    private final List<SessionServer> servers = new ArrayList<>();
    private final List<AutoCloseable> opened = new ArrayList<>();

    private TestCluster(Path arenas, Path sockets) {
        this.arenas = arenas;
        this.sockets = sockets;
    }

    public static TestCluster start(int count, long arenaBytes) {
        return start(count, arenaBytes, new ShmFabricProvider());
    }

    public static TestCluster start(int count, long arenaBytes, FabricProvider fabric) {
        try {
            Path arenas = Files.createTempDirectory(Path.of("/dev/shm"), "lite-mr");
            TestCluster cluster = new TestCluster(arenas, Files.createTempDirectory("lite-mr"));
            cluster.startNodes(count, arenaBytes, fabric);
            return cluster;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create a directory", e);
        }
    }

    private void startNodes(int count, long arenaBytes, FabricProvider fabric) {
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        for (int i = 0; i < count; i++) {
            LiteNodeConfig config = LiteNodeConfig.builder("mr", "node-" + i, arenaBytes, sockets.resolve("run-" + i))
                    .arena(arenas, false)
                    .fabricOptions("tcp", Map.of("secret", "the secret of this test"))
                    .build();
            LiteNode node = LiteNode.start(config, store.open(), List.of(fabric));
            nodes.add(node);
            SessionServer server = new SessionServer(SessionServerConfig.of(socket(i)), node);
            server.start();
            servers.add(server);
        }
        Waits.until(
                "the nodes are connected",
                () -> nodes.stream()
                        .allMatch(node ->
                                node.nodes().stream().map(NodeInfo::fabric).noneMatch("none"::equals)));
    }

    public Path socket(int node) {
        return sockets.resolve("s" + node);
    }

    /** An embedded session, which the cluster closes. */
    public Lite embedded(int node) {
        return keep(nodes.get(node).attach("lite-mr"));
    }

    /** An attached session, which the cluster closes. */
    public Lite attached(int node) {
        return keep(Lite.attach(Lite.AttachOptions.to(socket(node), "lite-mr")));
    }

    /** The same, which attaches again. */
    public Lite reattaching(int node) {
        return keep(Lite.attach(Lite.AttachOptions.to(socket(node), "lite-mr")
                .withReattach(true)
                .withDeadline(Waits.seconds(20))));
    }

    /** Ends all attached sessions of a node, and accepts new ones. */
    public void restartSessions(int node) {
        servers.get(node).close();
        SessionServer server = new SessionServer(SessionServerConfig.of(socket(node)), nodes.get(node));
        server.start();
        servers.set(node, server);
    }

    /** A worker in this JVM, with an embedded session. */
    MrWorker worker(int node, int threads) {
        return keep(MrWorker.start(
                embedded(node),
                WorkerOptions.of(GROUP).withName("worker-" + opened.size()).withThreads(threads)));
    }

    /** A worker in a process of its own. */
    Process workerProcess(int node, int threads) {
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx512m",
                "-XX:+UseSerialGC",
                "-classpath",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                MrMain.class.getName(),
                "worker",
                socket(node).toString(),
                GROUP,
                Integer.toString(threads));
        try {
            Process process = new ProcessBuilder(command).inheritIO().start();
            keep((AutoCloseable) () -> kill(process));
            return process;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start a worker", e);
        }
    }

    /** Kills a process as {@code kill -9} does, and waits for its end. */
    static void kill(Process process) {
        process.destroyForcibly();
        try {
            if (!process.waitFor(END.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new AssertionError("the worker does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** A master, which the cluster closes. */
    MapReduce master(Lite lite) {
        return keep(MapReduce.open(lite, GROUP, Waits.seconds(10)));
    }

    public <T extends AutoCloseable> T keep(T part) {
        opened.add(part);
        return part;
    }

    /** The bytes of all LMRs of all nodes. */
    long lmrBytes() {
        return nodes.stream().mapToLong(node -> node.figures().lmrBytes()).sum();
    }

    long freeBytes(int node) {
        return nodes.get(node).figures().usage().freeBytes();
    }

    static void awaitWorkers(MapReduce master, int count) {
        Waits.until(count + " workers", Waits.seconds(30), () -> master.workers() == count);
    }

    @Override
    public void close() {
        for (AutoCloseable part : opened.reversed()) {
            try {
                part.close();
            } catch (Exception e) {
                throw new AssertionError("cannot close " + part, e);
            }
        }
        servers.forEach(SessionServer::close);
        nodes.forEach(LiteNode::close);
        delete(arenas);
        delete(sockets);
    }

    static void delete(Path directory) {
        if (!Files.exists(directory)) {
            return;
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
