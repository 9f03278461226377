package dev.lite.system.hostile;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.NodeRecord;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.peer.Hello;
import dev.lite.tier.peer.NodeKey;
import dev.lite.tier.peer.PeerIdentity;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/** Says that it is a node which it is not: with the cluster's secret at a node's TCP port, or without it in ZooKeeper. One thread. */
final class Impostor implements FabricHandler {
    private static final long MEMORY_BYTES = 1 << 20;

    private final Map<FabricEndpoint, String> disconnected = new HashMap<>();
    private int accepted;

    /**
     * What came of it.
     *
     * @param accepted how many connections the victim made
     * @param reason of the last refusal
     */
    record Outcome(int tried, int accepted, String reason) {}

    private Impostor() {}

    /** Connects to a node with the hello of another one: everything in it is known to each member of the cluster. */
    static Outcome attack(String zookeeper, String cluster, Path secretFile, String victim, String claimed, int times)
            throws IOException {
        String secret = Files.readString(secretFile).stripTrailing();
        CuratorConfig config =
                CuratorConfig.of(zookeeper, cluster).withSigning(new CuratorConfig.Signing(secret, false));
        NodeRecord to;
        NodeRecord as;
        try (CuratorDirectory directory = CuratorDirectory.open(config)) {
            to = find(directory, victim);
            as = find(directory, claimed);
        }
        Hello hello = new Hello(cluster, as.id(), as.name(), as.process(), UUID.randomUUID(), 1 << 20, 64);
        Impostor impostor = new Impostor();
        FabricConfig own = new FabricConfig("impostor", hello.encode(), Path.of("/"), Map.of("secret", secret))
                .withIdentity(new PeerIdentity(NodeKey.generate()));
        String reason = "";
        try (Arena arena = Arena.ofShared();
                Fabric fabric = new TcpFabricProvider().open(own, impostor)) {
            fabric.register(new FabricMemory(arena.allocate(MEMORY_BYTES, 4096), FabricMemory.NO_DESCRIPTOR));
            for (int i = 0; i < times; i++) {
                FabricEndpoint endpoint =
                        fabric.connect(String.valueOf(to.fabrics().get("tcp")));
                Waits.until("an answer", () -> {
                    int unused = fabric.poll(16);
                    return impostor.accepted > 0 || impostor.disconnected.containsKey(endpoint);
                });
                reason = impostor.disconnected.getOrDefault(endpoint, "");
            }
        }
        return new Outcome(times, impostor.accepted, reason);
    }

    private static NodeRecord find(CuratorDirectory directory, String name) {
        return directory.nodesNow(Waits.seconds(20)).stream()
                .filter(node -> node.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    /** Registers nodes in ZooKeeper without the cluster's secret; returns their number. */
    static int register(String zookeeper, String cluster, String prefix, int nodes) throws IOException {
        ZooKeeper stranger = new ZooKeeper(zookeeper, 10_000, event -> {});
        try {
            Waits.until("the stranger's connection", () -> stranger.getState() == ZooKeeper.States.CONNECTED);
            for (int i = 0; i < nodes; i++) {
                String json = """
                        {"owner":"stranger","node":{"name":"%1$s-%2$d","id":%3$d,"incarnation":1,"host":"h/b",\
                        "arenaBytes":1048576,"fabrics":{"tcp":"127.0.0.1:9"},"process":7,"key":""}}""".formatted(prefix, i, 40 + i % 20);
                String unused = stranger.create(
                        "/lite/%s/live/%s-%d".formatted(cluster, prefix, i),
                        json.getBytes(StandardCharsets.UTF_8),
                        ZooDefs.Ids.OPEN_ACL_UNSAFE,
                        CreateMode.PERSISTENT);
            }
            return nodes;
        } catch (KeeperException | InterruptedException e) {
            throw new AssertionError(e);
        } finally {
            try {
                stranger.close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void completed(FabricEndpoint endpoint, long context) {}

    @Override
    public void failed(FabricEndpoint endpoint, long context, FabricError error) {}

    @Override
    public void immediate(FabricEndpoint endpoint, int immediate) {}

    @Override
    public void connected(FabricEndpoint endpoint, boolean byPeer) {
        accepted++;
    }

    @Override
    public void disconnected(FabricEndpoint endpoint, String reason) {
        disconnected.put(endpoint, reason);
    }
}
