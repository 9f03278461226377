package dev.lite.tier.testing;

import dev.lite.api.Lite;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.FabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Nodes in this JVM that share a directory and a fabric. One thread. */
public final class TestCluster implements AutoCloseable {
    public static final long ARENA_BYTES = 24 << 20;

    /** The options of the TCP fabric, which needs a secret. */
    public static final Map<String, String> TCP = Map.of("secret", "the secret of the test nodes");

    private final Path root;
    private final FabricProvider provider;
    private final Duration deadline;
    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final Map<String, Member> members = new LinkedHashMap<>();

    private record Member(LiteNode node, InMemoryDirectory directory) {}

    public TestCluster(Path root, FabricProvider provider) {
        this(root, provider, Waits.seconds(10));
    }

    public TestCluster(Path root, FabricProvider provider, Duration deadline) {
        this.root = root;
        this.provider = provider;
        this.deadline = deadline;
    }

    public Path arenas() {
        return root.resolve("arenas");
    }

    public LiteNodeConfig config(String name) {
        return in(name, root.resolve("run-" + name));
    }

    /** Starts a node with another run directory. */
    public LiteNodeConfig in(String name, Path runDirectory) {
        return LiteNodeConfig.builder("c", name, ARENA_BYTES, runDirectory)
                .arena(arenas(), true)
                .limits(new LiteNodeConfig.Limits(Long.MAX_VALUE, 1 << 20, 0, 8))
                .deadline(deadline)
                .fabricOptions("tcp", TCP)
                .pollSpins(100)
                .build();
    }

    public LiteNodeConfig withDeadline(String name, Duration ofNode) {
        return config(name).toBuilder().deadline(ofNode).build();
    }

    public LiteNode start(String name) {
        return start(config(name));
    }

    public LiteNode start(LiteNodeConfig config) {
        return start(config, directory -> directory);
    }

    /** With the node's directory seen through another one, which owns nothing. */
    public LiteNode start(LiteNodeConfig config, Function<InMemoryDirectory, ClusterDirectory> seenThrough) {
        InMemoryDirectory directory = store.open();
        try {
            LiteNode node = LiteNode.start(config, seenThrough.apply(directory), List.of(provider));
            members.put(config.name(), new Member(node, directory));
            return node;
        } catch (RuntimeException | Error e) {
            directory.close();
            throw e;
        }
    }

    /** Starts n0, n1, … and waits until all are connected with each other. */
    public TestCluster start(int nodes) {
        for (int index = 0; index < nodes; index++) {
            start("n" + index);
        }
        awaitConnections();
        return this;
    }

    public void awaitConnections() {
        Waits.until(
                "every node is connected to every other",
                () -> members.values().stream().allMatch(member -> connections(member.node()) == members.size()));
    }

    private static long connections(LiteNode node) {
        return node.nodes().stream()
                .filter(peer -> !peer.fabric().equals("none"))
                .count();
    }

    public LiteNode node(int index) {
        return node("n" + index);
    }

    public LiteNode node(String name) {
        return member(name).node();
    }

    public Lite attach(int index) {
        return node(index).attach("app");
    }

    public InMemoryDirectory directory(int index) {
        return member("n" + index).directory();
    }

    /** The directory store that the nodes share. It maintains the epochs, like the leading manager. */
    public InMemoryDirectory.Store store() {
        return store;
    }

    private Member member(String name) {
        @Nullable Member member = members.get(name);
        if (member == null) {
            throw new IllegalArgumentException("no node " + name);
        }
        return member;
    }

    /** Shuts down cleanly: first the node, then its registration. */
    public void stop(String name) {
        Member member = member(name);
        members.remove(name);
        member.node().close();
        member.directory().close();
    }

    @Override
    public void close() {
        List.copyOf(members.keySet()).reversed().forEach(this::stop);
    }
}
