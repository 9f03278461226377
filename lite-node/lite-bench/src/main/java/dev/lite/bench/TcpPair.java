package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;

/** A node in this process, and another one in a {@link TcpPeer}, connected by TCP. Used by one thread. */
final class TcpPair implements AutoCloseable {
    /** The name of the other node. */
    static final String SERVER = "node-1";

    private final Path arenas = BenchNodes.makeTemporary(Path.of("/dev/shm"));
    private final Path sockets = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
    private final LiteNodeConfig config = TcpPeer.config("node-0", arenas, sockets);
    private final LiteNode node;
    private final TcpPeer peer;
    final Lite lite;

    private TcpPair() throws IOException {
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        node = LiteNode.start(config, store.open(), List.of(new TcpFabricProvider()));
        try {
            peer = TcpPeer.start(node, arenas, sockets);
        } catch (IOException | RuntimeException e) {
            node.close();
            throw e;
        }
        TcpPeer.enter(store, SERVER, node.self().host(), peer.addresses().address());
        lite = node.attach("bench");
    }

    static TcpPair start() {
        try {
            return new TcpPair();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start the other node", e);
        }
    }

    /** The ports of the plain sockets. */
    TcpPeer.Addresses addresses() {
        return peer.addresses();
    }

    /** How often a plain socket is polled before its thread blocks. */
    int spins() {
        return TcpPeer.spins(config);
    }

    @Override
    public void close() {
        lite.close();
        peer.close();
        node.close();
        BenchNodes.delete(arenas);
        BenchNodes.delete(sockets);
    }
}
