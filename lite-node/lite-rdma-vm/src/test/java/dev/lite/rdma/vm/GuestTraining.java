package dev.lite.rdma.vm;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.manager.zookeeper.EmbeddedZooKeeperConfig;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Loads, on this machine, most of the classes that the programs in the machines load: those of a node with its
 * ZooKeeper, of an attached application and of a JUnit launch. There is no RDMA device here, so the fabric is TCP.
 */
final class GuestTraining {
    /**
     * The cache also has what the first compiler did. So the training does not compile the project's own methods: where
     * figures are taken, the second compiler does.
     */
    static final List<String> JVM = List.of(
            "-Xmx384m",
            "-XX:TieredStopAtLevel=1",
            "-XX:CompileCommand=quiet",
            "-XX:CompileCommand=exclude,dev.lite.*::*",
            "-Dlite.test.time-scale=1",
            "-Dlite.test.fabrics=tcp");

    private static final String NAME = "training";
    private static final String HERE = "127.0.0.1";
    private static final String FABRIC = "tcp";
    private static final long ARENA_BYTES = 16L << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    private GuestTraining() {}

    /**
     * Runs a node, and then a test. Exits the process.
     *
     * @param arguments a directory for files
     */
    public static void main(String[] arguments) throws ClassNotFoundException {
        Path files = Path.of(arguments[0]);
        runNode(files);
        GuestTests.main(
                new String[] {files.resolve("training.results").toString(), "dev.lite.tier.node.AbsentNodeTest"});
    }

    private static void runNode(Path files) {
        LiteNodeConfig config = LiteNodeConfig.builder(NAME, NAME, ARENA_BYTES, files.resolve("run"))
                .arena(files.resolve("arenas"), false)
                .deadline(DEADLINE)
                .fabricOptions(FABRIC, Map.of("bind", HERE, "secret", NodeProgram.SECRET))
                .build();
        try (EmbeddedZooKeeper zooKeeper = EmbeddedZooKeeper.start(
                        new EmbeddedZooKeeperConfig(HERE, 0, files.resolve("zookeeper"), DEADLINE));
                CuratorDirectory directory =
                        CuratorDirectory.open(new CuratorConfig(zooKeeper.connectString(), NAME, DEADLINE, DEADLINE));
                LiteNode node = LiteNode.start(config, directory, List.of(NodeProgram.provider(FABRIC)));
                Lite lite = node.attach(NAME);
                LmrHandle handle = lite.memory().malloc(LmrSpec.of(1))) {
            TwoNodes.serve(lite);
            handle.write(0, new byte[] {1});
        }
    }
}
