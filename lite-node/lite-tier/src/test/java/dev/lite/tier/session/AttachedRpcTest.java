package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeInfo;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import dev.lite.tier.channel.NodeChannels;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.testing.CallContexts;
import dev.lite.tier.testing.CallFailures;
import dev.lite.tier.testing.HasChannels;
import dev.lite.tier.testing.InDevShm;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls and messages of applications that are attached to two real nodes. */
@HasChannels
class AttachedRpcTest {
    private static final Duration GENEROUS = Waits.scaled(Duration.ofSeconds(15));
    private static final Duration SHORT = Duration.ofMillis(50);

    @TempDir(factory = InDevShm.class)
    Path directory;

    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final Map<String, LiteNode> nodes = new HashMap<>();
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private Lite caller;
    private Lite server;

    @BeforeEach
    void start() {
        caller = startNode("n0");
        server = startNode("n1");
        Waits.until(
                "the nodes are connected",
                () -> caller.nodes().stream().map(NodeInfo::fabric).toList().equals(List.of("local", "shm"))
                        && server.nodes().stream()
                                .map(NodeInfo::fabric)
                                .toList()
                                .equals(List.of("shm", "local")));
    }

    private Lite startNode(String name) {
        return startNode(name, NodeChannels.CHANNELS_DEFAULT);
    }

    private Lite startNode(String name, int channels) {
        InMemoryDirectory view = store.open();
        opened.push(view);
        LiteNode node = LiteNode.start(
                LiteNodeConfig.builder("c", name, 64L << 20, directory.resolve(name))
                        .arena(directory.resolve("arenas"), false)
                        .channelsMax(channels)
                        .build(),
                view,
                List.of(new ShmFabricProvider()));
        opened.push(node);
        serve(node, SessionServerConfig.of(socket(name)));
        nodes.put(name, node);
        return attach(name);
    }

    private void serve(LiteNode node, SessionServerConfig config) {
        SessionServer sessions = new SessionServer(config, node);
        opened.push(sessions);
        sessions.start();
    }

    private Path socket(String name) {
        return directory.resolve(name + ".sock");
    }

    private Lite attach(String name) {
        Lite lite = Lite.attach(AttachOptions.to(socket(name), "app"));
        opened.push(lite);
        return lite;
    }

    @AfterEach
    void stop() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void callsOfEveryLengthAreAnsweredByAHandlerInAnotherApplication() {
        for (Lite at : List.of(caller, server)) {
            at.rpc().register("echo", 4, RpcCall::request);
            Random random = new Random(3);
            for (int length : new int[] {0, 1, 8, 1000, 2049, 65_535, 65_536}) {
                byte[] request = new byte[length];
                random.nextBytes(request);
                assertThat(caller.rpc().call(at.nodeName(), "echo", request, GENEROUS))
                        .as("%d bytes", length)
                        .isEqualTo(request);
            }
        }
        assertThatThrownBy(() -> caller.rpc().call("n1", "echo", new byte[65_537], GENEROUS))
                .isInstanceOf(LimitExceededException.class);
    }

    @Test
    void everyFailureHasItsStatus() {
        for (Lite at : List.of(caller, server)) {
            CallFailures failures = new CallFailures(caller, at);
            failures.check();
            failures.checkMessages();
        }
    }

    @Test
    void aContextReachesTheServerBesideItsRequest() {
        for (Lite at : List.of(caller, server)) {
            new CallContexts(caller, at).check();
        }
    }

    @Test
    void anAttachedApplicationLetsItsNodeChooseWhoServesACall() {
        RpcClient client = caller.rpc().bindAny("any");
        assertThatThrownBy(() -> client.call(new byte[0], GENEROUS))
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED))
                .hasMessageContaining("no node serves the function \"any\", as far as node n0 knows");
        server.rpc().register("any", 2, call -> MemorySegment.ofArray(bytes("n1 " + call.context())));
        Waits.until("n0 has found it", () -> {
            try {
                return client.call(new byte[0], GENEROUS).length > 0;
            } catch (RpcFailedException e) {
                return false;
            }
        });
        assertThat(client.withContext("trace").call(new byte[0], GENEROUS))
                .asString()
                .isEqualTo("n1 trace");
        assertThat(client.callAsync(new byte[0], GENEROUS).join()).asString().isEqualTo("n1 null");
        MemorySegment reply = MemorySegment.ofArray(new byte[7]);
        assertThat(client.call(MemorySegment.ofArray(bytes("x")), reply, GENEROUS))
                .isEqualTo(7);
        RpcServer own = caller.rpc().register("any", 2, call -> MemorySegment.ofArray(bytes("n0")));
        assertThat(client.call(new byte[0], GENEROUS)).asString().isEqualTo("n0");
        own.close();
        assertThat(client.call(new byte[0], GENEROUS)).asString().isEqualTo("n1 null");
    }

    @Test
    void manyCallsAtOnceGetTheirOwnReplies() {
        server.rpc().register("echo", 8, RpcCall::request);
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            replies.add(caller.rpc().callAsync("n1", "echo", bytes("number " + i), GENEROUS));
        }
        for (int i = 0; i < 500; i++) {
            assertThat(replies.get(i).join()).asString().isEqualTo("number " + i);
        }
    }

    /** Its receives and answers need slots of its session as well. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anApplicationThatCallsItselfFromManyThreadsAnswersThemAll(boolean handles) {
        Lite app = startNode("n2", 0);
        if (handles) {
            app.rpc().register("echo", 8, RpcCall::request);
        } else {
            RpcServer served = app.rpc().serve("echo");
            Thread unused = Thread.ofPlatform().daemon().start(() -> {
                while (true) {
                    RpcCall call = served.receive(GENEROUS);
                    call.reply(call.request());
                }
            });
        }
        CountDownLatch begin = new CountDownLatch(1);
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            byte[] request = bytes("number " + i);
            replies.add(CompletableFuture.supplyAsync(
                    () -> {
                        Waits.await(begin);
                        return app.rpc().call("n2", "echo", request, GENEROUS);
                    },
                    task -> Thread.ofVirtual().start(task)));
        }
        begin.countDown();
        for (int i = 0; i < 300; i++) {
            assertThat(replies.get(i).join()).asString().isEqualTo("number " + i);
        }
    }

    @Test
    void aServerCanReceiveReplyAndFailACall() {
        RpcServer served = server.rpc().serve("f");
        CompletableFuture<byte[]> first = caller.rpc().callAsync("n1", "f", bytes("a"), GENEROUS);
        RpcCall call = served.receive(GENEROUS);
        assertThat(call.callerNode()).isEqualTo("n0");
        assertThat(call.callerPrincipal()).isNotBlank();
        CompletableFuture<byte[]> second = caller.rpc().callAsync("n1", "f", bytes("b"), GENEROUS);
        RpcCall next = served.replyAndReceive(call, MemorySegment.ofArray(bytes("A")), GENEROUS);
        assertThat(first.join()).asString().isEqualTo("A");
        next.fail("no b here");
        assertThatThrownBy(second::join)
                .cause()
                .isInstanceOf(RpcFailedException.class)
                .hasMessageContaining("no b here");
        assertThatThrownBy(() -> call.reply(new byte[1])).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> served.receive(SHORT)).isInstanceOf(LiteTimeoutException.class);
        served.close();
        assertThatThrownBy(() -> served.receive(SHORT)).isInstanceOf(SessionLostException.class);
    }

    @Test
    void aCallOverItsDeadlineEndsInTimeAndItsSlotIsReused() {
        RpcServer served = server.rpc().serve("slow");
        for (int i = 0; i < 100; i++) { // more calls than there are slots
            assertThatThrownBy(() -> caller.rpc().call("n1", "slow", new byte[8], Duration.ofMillis(5)))
                    .isInstanceOf(LiteTimeoutException.class);
        }
        CompletableFuture<byte[]> last = caller.rpc().callAsync("n1", "slow", bytes("last"), GENEROUS);
        RpcCall call = served.receive(GENEROUS);
        while (call.request().byteSize() != 4) {
            call = served.replyAndReceive(call, call.request(), GENEROUS);
        }
        call.reply(call.request());
        assertThat(last.join()).asString().isEqualTo("last");
    }

    @Test
    void aRequestLongerThanTheServersWindowsIsRefusedAndTheNextOneIsServed() {
        int window = 4096;
        Path small = directory.resolve("small.sock");
        serve(
                Objects.requireNonNull(nodes.get("n1")),
                SessionServerConfig.of(small).withArea(new SessionArea(4, window)));
        Lite narrow = Lite.attach(AttachOptions.to(small, "app"));
        opened.push(narrow);
        narrow.rpc().register("handled", 1, RpcCall::request);
        RpcServer served = narrow.rpc().serve("received");
        CompletableFuture<RpcCall> received = CompletableFuture.supplyAsync(() -> served.receive(GENEROUS));
        for (String function : List.of("handled", "received")) {
            for (int i = 0; i < 3; i++) {
                assertThatThrownBy(() -> caller.rpc().call("n1", function, new byte[window + 1], GENEROUS))
                        .isInstanceOfSatisfying(
                                RpcFailedException.class,
                                e -> assertThat(e.status()).isEqualTo(RpcStatus.REFUSED))
                        .hasMessageContaining("the request has 4097 bytes")
                        .hasMessageContaining("at most 4096");
            }
        }
        assertThat(caller.rpc().call("n1", "handled", new byte[window], GENEROUS))
                .hasSize(window);
        CompletableFuture<byte[]> reply = caller.rpc().callAsync("n1", "received", bytes("x"), GENEROUS);
        received.join().reply(bytes("y"));
        assertThat(reply.join()).asString().isEqualTo("y");
    }

    @Test
    void messagesReachAnotherApplication() {
        try (RpcMessages port = server.rpc().messages("in")) {
            for (int i = 0; i < 20; i++) {
                caller.rpc().send("n1", "in", MemorySegment.ofArray(bytes("m" + i)), GENEROUS);
            }
            for (int i = 0; i < 20; i++) {
                RpcMessages.Message message = port.receive(GENEROUS);
                assertThat(message.data()).asString().isEqualTo("m" + i);
                assertThat(message.senderNode()).isEqualTo("n0");
            }
        }
        assertThatThrownBy(() -> caller.rpc().send("n1", "in", MemorySegment.ofArray(new byte[1]), GENEROUS))
                .isInstanceOf(RpcFailedException.class);
    }

    @Test
    void theEndOfAnApplicationFailsItsUnansweredCalls() {
        Lite dying = attach("n1");
        RpcServer served = dying.rpc().serve("f");
        CompletableFuture<byte[]> received = caller.rpc().callAsync("n1", "f", bytes("a"), GENEROUS);
        RpcCall call = served.receive(GENEROUS);
        CompletableFuture<byte[]> queued = caller.rpc().callAsync("n1", "f", bytes("b"), GENEROUS);
        dying.close();
        assertThatThrownBy(received::join)
                .cause()
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.CANCELLED));
        assertThatThrownBy(queued::join)
                .cause()
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED));
        assertThatThrownBy(() -> call.reply(new byte[1])).isInstanceOf(LiteException.class);
    }

    @Test
    void theEndOfACallersSessionEndsItsCalls() {
        RpcServer served = server.rpc().serve("f");
        Lite leaving = attach("n0");
        CompletableFuture<byte[]> call = leaving.rpc().callAsync("n1", "f", bytes("a"), GENEROUS);
        served.receive(GENEROUS).callerNode();
        leaving.close();
        assertThatThrownBy(call::join).cause().isInstanceOf(SessionLostException.class);
        server.rpc().register("after", 1, RpcCall::request);
        assertThat(caller.rpc().call("n1", "after", bytes("x"), GENEROUS)).isEqualTo(bytes("x"));
    }

    @Test
    void garbageInTheSlotsIsRefusedWithoutDisturbingOthers() throws ProtocolException {
        server.rpc().register("echo", 2, RpcCall::request);
        try (RawClient raw = new RawClient(socket("n0")).attach()) {
            raw.channel.send(new RpcOpen(1, RpcKind.CLIENT, "n1", "echo"));
            SessionMessage answer = raw.channel.receive();
            assertThat(answer).isInstanceOf(RpcOpened.class);
            long id = ((RpcOpened) answer).id();
            Random random = new Random(11);
            for (int i = 0; i < 300; i++) {
                int op = Op.CALL + random.nextInt(5);
                long target = random.nextBoolean() ? id : random.nextLong();
                raw.command(
                        0,
                        op,
                        target,
                        random.nextLong(),
                        random.nextInt(raw.area().windowBytes() + 1));
                long at = raw.base() + SessionArea.slotOffset(0);
                RawMemory.putLong(at + SessionArea.OPERAND0, random.nextLong());
                RawMemory.putLong(at + SessionArea.OPERAND1, random.nextBoolean() ? 0 : random.nextLong(-1, 1000));
                RawMemory.putLong(at + SessionArea.TIMEOUT_NS, random.nextInt(1_000_000));
                raw.submit(1);
                Waits.until(
                        "the command is completed",
                        () -> RawMemory.getIntVolatile(at + SessionArea.STATE) == SessionArea.STATE_DONE);
            }
            assertThat(caller.rpc().call("n1", "echo", bytes("x"), GENEROUS)).isEqualTo(bytes("x"));
            raw.command(0, Op.CALL, id, 0, raw.area().windowBytes() + 1L);
            raw.submit(1);
            assertThat(raw.awaitGoodbye()).contains("call of 65537 bytes");
        }
        assertThat(caller.rpc().call("n1", "echo", bytes("x"), GENEROUS)).isEqualTo(bytes("x"));
    }
}
