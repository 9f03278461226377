package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.session.channel.ChannelTotals;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.HasChannels;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Two nodes, and applications with LITE's client that call each other through channels. */
@ParameterizedClass
@EnumSource(names = {"ONE_HOST", "TCP"})
@HasChannels
abstract class ClientChannelCases {
    static final Duration GENEROUS = Waits.scaled(Duration.ofSeconds(20));
    static final Duration SHORT = Duration.ofMillis(30);

    final Between between;

    @TempDir(factory = InDevShm.class)
    Path directory;

    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private final Map<String, SessionServer> servers = new HashMap<>();
    TestCluster nodes;
    Lite caller;

    ClientChannelCases(Between between) {
        this.between = between;
    }

    @BeforeEach
    void start() {
        nodes = new TestCluster(directory, between.fabric(directory));
        opened.push(nodes);
        nodes.start("n0");
        nodes.start("n1");
        nodes.awaitConnections();
        for (String name : List.of("n0", "n1")) {
            SessionServer sessions = new SessionServer(SessionServerConfig.of(socket(name)), nodes.node(name));
            opened.push(sessions);
            servers.put(name, sessions);
            sessions.start();
        }
        caller = attach("n0");
    }

    private Path socket(String name) {
        return directory.resolve(name + ".sock");
    }

    Lite attach(String name) {
        Lite lite = Lite.attach(AttachOptions.to(socket(name), "app"));
        opened.push(lite);
        return lite;
    }

    /** An application whose session is not replaced. */
    Lite attachOnce() {
        Lite lite = Lite.attach(AttachOptions.to(socket("n0"), "app").withReattach(false));
        opened.push(lite);
        return lite;
    }

    @AfterEach
    void stop() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    static byte[] number(long number) {
        byte[] bytes = new byte[Long.BYTES];
        MemorySegment.ofArray(bytes).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, number);
        return bytes;
    }

    static long number(MemorySegment message) {
        return message.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    static MemorySegment negated(RpcCall call) {
        return MemorySegment.ofArray(number(-number(call.request())));
    }

    /** Calls until there is a channel, which both ends have mapped. */
    void callUntilThereIsAChannel(RpcClient client, long before) {
        Waits.until("there is a channel", () -> {
            assertThat(number(MemorySegment.ofArray(client.call(number(7), GENEROUS))))
                    .isEqualTo(-7);
            return ChannelCases.mappedChannels() >= before + 2;
        });
    }

    static Object session(Lite attachedOnce) {
        return Inside.field(attachedOnce, "session", Object.class);
    }

    /** A client whose calls take a channel to the server on n1, of which no thread receives any more. */
    static RpcClient clientWithChannel(Lite attachedOnce, RpcServer server) {
        Thread serving = thread(false, () -> serveUntilZero(server));
        RpcClient client = attachedOnce.rpc().bind("n1", "negate");
        // The client may use its channel a little later than it maps it.
        Object counts = Inside.field(session(attachedOnce), "counts", Object.class);
        ChannelTotals calls = Inside.field(counts, "channelCalls", ChannelTotals.class);
        Waits.until("a call takes a channel", () -> {
            byte[] unused = client.call(number(7), GENEROUS);
            return calls.sum().operations() > 0;
        });
        client.call(number(0), GENEROUS);
        Waits.join(serving);
        return client;
    }

    /** Serves until the server is closed. */
    static void serve(RpcServer server) {
        RpcCall call = null;
        while (true) {
            try {
                call = call == null ? server.receive(GENEROUS) : server.replyAndReceive(call, negated(call), GENEROUS);
            } catch (LiteTimeoutException e) {
                call = null;
            } catch (SessionLostException e) {
                return;
            }
        }
    }

    static void serveUntilZero(RpcServer server) {
        RpcCall call = server.receive(GENEROUS);
        while (number(call.request()) != 0) {
            call = server.replyAndReceive(call, negated(call), GENEROUS);
        }
        call.reply(negated(call));
    }

    /** How many calls the applications of a node have received and not answered. */
    int callsReceivedAt(String node) {
        Map<?, ?> connections = Inside.field(Objects.requireNonNull(servers.get(node)), "connections", Map.class);
        return connections.keySet().stream()
                .mapToInt(session -> {
                    SessionWorker worker = Inside.field(session, "worker", SessionWorker.class);
                    ReceivedCalls calls =
                            Inside.field(worker, "rpc", RpcCommands.class).received();
                    return Inside.field(calls, "calls", Map.class).size();
                })
                .sum();
    }

    static Thread thread(boolean virtual, Runnable task) {
        return virtual ? Thread.ofVirtual().start(task) : Thread.ofPlatform().start(task);
    }
}
