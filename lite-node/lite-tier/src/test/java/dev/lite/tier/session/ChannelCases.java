package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LiteException.Code;
import dev.lite.session.channel.ChannelCaller;
import dev.lite.session.channel.ChannelServer;
import dev.lite.session.channel.LinkWatch;
import dev.lite.session.channel.ReceivedRequest;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.testing.Waits;
import dev.lite.tier.channel.NodeChannels;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.session.ChannelClient.Offer;
import dev.lite.tier.session.ChannelClient.Opened;
import dev.lite.tier.testing.HasChannels;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** Two applications without LITE's client, one of which serves a function to the other: at one node, or at two nodes. */
@HasChannels
abstract class ChannelCases {
    static final Duration GENEROUS = Waits.scaled(Duration.ofSeconds(10));

    final Between between;

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

    ChannelCases(Between between) {
        this.between = between;
    }

    /** Starts two nodes; the caller is attached to n0, the server to this one. */
    void start(String serversNode) throws ProtocolException {
        start(serversNode, 256, 256);
    }

    void start(String serversNode, int channelsAtCaller, int channelsAtServer) throws ProtocolException {
        TestCluster nodes = new TestCluster(directory, between.fabric(directory));
        start(
                serversNode,
                nodes,
                nodes.config("n0").toBuilder().channelsMax(channelsAtCaller).build(),
                nodes.config("n1").toBuilder().channelsMax(channelsAtServer).build());
    }

    void start(String serversNode, TestCluster nodes, LiteNodeConfig callers, LiteNodeConfig servers)
            throws ProtocolException {
        opened.push(nodes);
        cluster = nodes;
        nodes.start(callers);
        nodes.start(servers);
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

    /** A call of the next channel, which both applications close then. */
    void assertACallPasses() throws ProtocolException {
        long request = caller.ask(client);
        Offer offer = server.offered();
        assertThat(offer.message().node()).isEqualTo("n0");
        assertThat(offer.message().principal()).startsWith("uid:");
        assertThat(offer.message().server()).isEqualTo(served);
        assertThat(offer.carrier().descriptors()).hasSize(1);
        try (LinkWatch watch = new LinkWatch();
                ChannelServer its = offer.server(watch)) {
            assertThat(server.take(offer.message().channel())).isInstanceOf(Done.class);
            try (ChannelCaller own = caller.opened(request).caller(watch)) {
                byte[] question = new byte[NodeChannels.WINDOW_BYTES];
                Arrays.fill(question, (byte) 'q');
                CompletableFuture<byte[]> reply = CompletableFuture.supplyAsync(() -> call(own, question));
                ReceivedRequest received = new ReceivedRequest(offer.message().area());
                Waits.until("the request is there", () -> its.tryReceive(received));
                assertThat(received.length()).isEqualTo(question.length);
                its.reply(received.call(), received.bytes());
                assertThat(reply).succeedsWithin(GENEROUS).isEqualTo(question);
            }
        }
    }

    private static byte[] call(ChannelCaller caller, byte[] request) {
        byte[] reply = new byte[request.length];
        int length = caller.call(MemorySegment.ofArray(request), MemorySegment.ofArray(reply), GENEROUS.toNanos());
        return Arrays.copyOf(reply, length);
    }

    /** Mappings of channels in this process, which has both ends. */
    static long mappedChannels() {
        try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains("lite-channel")).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Descriptors of channels' memory in this process, which has both nodes and both applications, and of all sockets. */
    static long channelDescriptors() {
        try (var entries = Files.list(Path.of("/proc/self/fd"))) {
            return entries.filter(ChannelCases::isOfChannel).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isOfChannel(Path descriptor) {
        try {
            String target = Files.readSymbolicLink(descriptor).toString();
            return target.contains("lite-channel") || target.startsWith("socket:");
        } catch (IOException closedMeanwhile) {
            return false;
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
