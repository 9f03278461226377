package dev.lite.rdma.vm;

import dev.lite.api.Lite;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.fabric.FabricProvider;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.manager.zookeeper.EmbeddedZooKeeperConfig;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.locks.LockSupport;

/**
 * A node in its own process, over one fabric, in a cluster of two. It reports events as lines on standard output. Its
 * roles:
 *
 * <ul>
 *   <li>{@code caller}: also runs the cluster's ZooKeeper; runs {@link TwoNodes#workload}, then {@link TwoNodes#watch};
 *   <li>{@code server}: serves until it is killed;
 *   <li>{@code stranger}: prints why it is not connected.
 * </ul>
 */
final class NodeProgram {
    static final String CALLER = "caller";
    static final String SERVER = "server";
    static final String STRANGER = "stranger";
    static final String SECRET = "the secret of two machines";
    static final int ZOOKEEPER_PORT = 2181;

    private static final String CLUSTER = "vm";
    private static final long ARENA_BYTES = 48L << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(40);
    private static final Duration SESSION = Duration.ofSeconds(10);
    private static final long PAUSE_NS = 50_000_000;

    private NodeProgram() {}

    /**
     * Runs a role.
     *
     * @param arguments the role, which is also the node's name; the fabric; the address to listen on; ZooKeeper's address;
     *     the cluster secret; the directory for arenas, sockets and ZooKeeper's data
     */
    public static void main(String[] arguments) {
        try {
            run(arguments);
        } catch (RuntimeException e) {
            // ZooKeeper's threads would keep the process alive.
            e.printStackTrace();
            System.exit(1);
        }
    }

    private static void run(String[] arguments) {
        String role = arguments[0];
        String fabric = arguments[1];
        String zooKeeper = arguments[3];
        Path files = Path.of(arguments[5]);
        if (role.equals(CALLER)) {
            EmbeddedZooKeeper.start(
                    new EmbeddedZooKeeperConfig(zooKeeper, ZOOKEEPER_PORT, files.resolve("zookeeper"), DEADLINE));
        }
        CuratorDirectory directory = CuratorDirectory.open(
                new CuratorConfig("%s:%d".formatted(zooKeeper, ZOOKEEPER_PORT), CLUSTER, SESSION, SESSION));
        String host = fabric.equals("tcp") ? "bind" : "host";
        LiteNodeConfig config = LiteNodeConfig.builder(CLUSTER, role, ARENA_BYTES, files.resolve("run-" + role))
                .arena(files.resolve("arenas"), true)
                .deadline(DEADLINE)
                .fabricOptions(fabric, Map.of(host, arguments[2], "secret", arguments[4], "peer-timeout-ms", "3000"))
                .build();
        LiteNode node = LiteNode.start(config, directory, List.of(provider(fabric)));
        System.out.println("started " + node.self());
        Lite lite = node.attach("two-machines");
        switch (role) {
            case SERVER -> {
                TwoNodes.serve(lite);
                System.out.println("serving");
                LockSupport.park(); // until it is killed
            }
            case STRANGER -> printTrouble(node);
            default -> {
                TwoNodes.serve(lite);
                TwoNodes.workload(node, lite, fabric);
                TwoNodes.watch(node, lite);
            }
        }
    }

    static FabricProvider provider(String name) {
        return ServiceLoader.load(FabricProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no driver \"%s\" on the class path".formatted(name)));
    }

    /** Waits until every other node has been refused, or until the deadline. */
    private static void printTrouble(LiteNode node) {
        long endNs = System.nanoTime() + DEADLINE.toNanos();
        while (System.nanoTime() - endNs < 0
                && !node.nodes().stream()
                        .allMatch(peer -> peer.id() == node.self().id()
                                || !node.trouble(peer.id()).isEmpty())) {
            LockSupport.parkNanos(PAUSE_NS);
        }
        node.nodes()
                .forEach(peer -> System.out.printf(
                        "trouble with %s over %s: %s%n", peer.name(), peer.fabric(), node.trouble(peer.id())));
        System.out.println("trouble printed");
        System.exit(0);
    }
}
