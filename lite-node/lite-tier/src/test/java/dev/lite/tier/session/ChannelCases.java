package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LiteException.Code;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.testing.Waits;
import dev.lite.tier.session.ChannelClient.Opened;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** Two applications without LITE's client, one of which serves a function to the other: at one node, or at two nodes of one host. */
abstract class ChannelCases {
    static final Duration GENEROUS = Waits.scaled(Duration.ofSeconds(10));

    @TempDir(factory = InDevShm.class)
    Path directory;

    final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private @Nullable TestCluster cluster;

    @SuppressWarnings("NullAway.Init") // by start
    ChannelClient caller;

    @SuppressWarnings("NullAway.Init") // by start
    ChannelClient server;

    long client;
    long served;

    /** Starts two nodes; the caller is attached to n0, the server to this one. */
    void start(String serversNode) throws ProtocolException {
        start(serversNode, new ShmFabricProvider(), 256, 256);
    }

    void start(String serversNode, FabricProvider fabric, int channelsAtCaller, int channelsAtServer)
            throws ProtocolException {
        TestCluster nodes = new TestCluster(directory, fabric);
        opened.push(nodes);
        cluster = nodes;
        nodes.start(nodes.config("n0").toBuilder().channelsMax(channelsAtCaller).build());
        nodes.start(nodes.config("n1").toBuilder().channelsMax(channelsAtServer).build());
        nodes.awaitConnections();
        for (String name : List.of("n0", "n1")) {
            SessionServer sessions = new SessionServer(SessionServerConfig.of(socket(name)), nodes.node(name));
            opened.push(sessions);
            sessions.start();
        }
        caller = attach("n0");
        server = attach(serversNode);
        served = server.serve("f");
        client = caller.open(RpcKind.CLIENT, serversNode, "f");
    }

    Path socket(String node) {
        return directory.resolve(node + ".sock");
    }

    ChannelClient attach(String node) throws ProtocolException {
        ChannelClient attached = new ChannelClient(socket(node));
        opened.push(attached);
        return attached;
    }

    TestCluster cluster() {
        return Objects.requireNonNull(cluster);
    }

    @AfterEach
    void stop() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    /** An open channel: its number at both ends. */
    record Numbers(long caller, long server) {}

    Numbers connect() throws ProtocolException {
        long request = caller.ask(client);
        long atServer = server.takeNext();
        try (Opened channel = caller.opened(request)) {
            return new Numbers(channel.number(), atServer);
        }
    }

    Failed refusal() throws ProtocolException {
        return caller.failure(caller.ask(client));
    }

    void assertRefused(Code code, String... words) throws ProtocolException {
        Failed why = refusal();
        assertThat(why.message()).contains(words);
        assertThat(why.code()).isEqualTo(code.number());
    }

    Lite embedded(String node) {
        return cluster()
                .node(node)
                .attach("uid:" + server.raw.socket.peerCredentials().uid());
    }
}
