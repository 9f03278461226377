package dev.lite.bench.contenders;

import dev.lite.api.Lite;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.fabric.FabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;

/** A node of two, with one fabric: embedded in a party, or in its own process with a socket for applications. */
public final class BenchNode implements AutoCloseable {
    private static final long ARENA_BYTES = 256L << 20;
    /** Long, because the benchmark may keep the processors busy. */
    private static final Duration SESSION_TIMEOUT = Duration.ofSeconds(20);

    private static final Duration START = Duration.ofSeconds(30);
    private static final Duration CONNECT = Duration.ofSeconds(10);

    private final ClusterDirectory directory;
    private final LiteNode node;

    private BenchNode(ClusterDirectory directory, LiteNode node) {
        this.directory = directory;
        this.node = node;
    }

    /**
     * How a node is started; also its arguments on a command line.
     *
     * @param zooKeeper the address of ZooKeeper
     * @param fabric the fabric's name; also the name of the cluster
     * @param place the directory for arenas and sockets
     * @param name the node's name
     * @param channels the maximum number of channels; 0 for none
     * @param protection {@link #ENCRYPTED} or {@link #PLAIN}: what protects the data between nodes over TCP
     */
    public record Spec(String zooKeeper, String fabric, Path place, String name, int channels, String protection) {
        /** As by default. */
        public static final String ENCRYPTED = "encrypted";

        /** Only the handshake is authenticated. */
        public static final String PLAIN = "none";

        /** Reads the words of a command line. */
        public static Spec parse(List<String> words) {
            return new Spec(
                    words.get(0),
                    words.get(1),
                    Path.of(words.get(2)),
                    words.get(3),
                    Integer.parseInt(words.get(4)),
                    words.get(5));
        }

        /** The words for {@link #parse}. */
        public List<String> words() {
            return List.of(zooKeeper, fabric, place.toString(), name, Integer.toString(channels), protection);
        }

        /** The socket for applications. */
        public Path socket() {
            return place.resolve(name + ".sock");
        }
    }

    /** Starts a node in this process. */
    public static BenchNode start(Spec spec) {
        FabricProvider fabric = ServiceLoader.load(FabricProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals(spec.fabric))
                .findFirst()
                .orElseThrow();
        Path run = spec.place.resolve(spec.name);
        try {
            Files.createDirectories(run);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create " + run, e);
        }
        LiteNodeConfig config = LiteNodeConfig.builder(cluster(spec), spec.name, ARENA_BYTES, run)
                .arena(spec.place.resolve("arenas"), false)
                .deadline(START)
                .channelsMax(spec.channels)
                .fabricOptions("tcp", Map.of("secret", "the benchmark's secret", "protection", spec.protection))
                .build();
        CuratorDirectory directory = openDirectory(spec);
        return new BenchNode(directory, LiteNode.start(config, directory, List.of(fabric)));
    }

    static CuratorDirectory openDirectory(Spec spec) {
        return CuratorDirectory.open(new CuratorConfig(spec.zooKeeper, cluster(spec), SESSION_TIMEOUT, CONNECT));
    }

    private static String cluster(Spec spec) {
        return spec.place.getFileName().toString();
    }

    /** Opens a session. */
    public Lite attach() {
        return node.attach("bench");
    }

    @Override
    public void close() {
        node.close();
        directory.close();
    }

    /**
     * A node process. Answers {@code ok} when applications may attach, and runs until its input ends.
     *
     * @param arguments see {@link Spec}
     */
    public static void main(String[] arguments) throws IOException {
        Spec spec = Spec.parse(List.of(arguments));
        try (BenchNode started = start(spec);
                SessionServer sessions = new SessionServer(SessionServerConfig.of(spec.socket()), started.node)) {
            sessions.start();
            System.out.println("ok " + spec.socket());
            int end = System.in.read();
            assert end < 0;
        }
    }
}
