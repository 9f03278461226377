package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.session.protocol.SessionArea;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.HasChannels;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls that wait together for an attached application: one command receives several. */
@HasChannels
class FurtherCallsTest {
    private static final Duration GENEROUS = Waits.scaled(Duration.ofSeconds(15));
    private static final Duration SHORT = Duration.ofMillis(50);

    @TempDir(factory = InDevShm.class)
    Path directory;

    private TestCluster cluster;
    private SessionServer sessions;
    private Lite caller;
    private Lite application;

    @BeforeEach
    void start() {
        cluster = new TestCluster(directory, new ShmFabricProvider()).start(2);
        caller = cluster.attach(1);
        sessions = new SessionServer(
                SessionServerConfig.of(socket()).withArea(new SessionArea(32, 16 * 1024)), cluster.node(0));
        sessions.start();
        application = attach();
    }

    private Path socket() {
        return directory.resolve("app.sock");
    }

    private Lite attach() {
        return Lite.attach(AttachOptions.to(socket(), "app"));
    }

    @AfterEach
    void stop() {
        application.close();
        sessions.close();
        caller.close();
        cluster.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(RpcCall call) {
        return new String(call.request().toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    /** Makes so many calls, which are queued at the server's node in this order. One that needs a thread could be overtaken. */
    private List<CompletableFuture<byte[]>> queue(RpcServer server, int count) {
        String function = server.function();
        CompletableFuture<byte[]> first = caller.rpc().callAsync("n0", function, bytes("binds"), GENEROUS);
        server.receive(GENEROUS).reply(bytes("bound"));
        assertThat(first.join()).asString().isEqualTo("bound");
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            replies.add(caller.rpc().callAsync("n0", function, bytes("call " + i), GENEROUS));
            int queued = i + 1;
            Waits.until(
                    "%d calls of \"%s\" are queued".formatted(queued, function),
                    () -> cluster.node(0).figures().queuedCalls() == queued);
        }
        return replies;
    }

    private static void assertNotServed(CompletableFuture<byte[]> reply) {
        assertThatThrownBy(reply::join)
                .cause()
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED));
    }

    private static MemorySegment answer(RpcCall call) {
        return MemorySegment.ofArray(bytes("answer to " + text(call)));
    }

    private static void assertAnswered(List<CompletableFuture<byte[]>> replies, int call) {
        assertThat(replies.get(call).join()).asString().isEqualTo("answer to call " + call);
    }

    private static int number(RpcCall call) {
        return Integer.parseInt(text(call).substring("call ".length()));
    }

    @Test
    void callsThatWaitTogetherAreReceivedOnceAndEachGetsItsOwnReply() {
        RpcServer server = application.rpc().serve("f");
        List<CompletableFuture<byte[]>> replies = queue(server, 40);
        RpcCall call = server.receive(GENEROUS);
        assertThat(cluster.node(0).figures().queuedCalls()).isLessThan(39); // several came with the first one
        Set<Integer> received = new HashSet<>();
        for (int i = 0; i < 40; i++) {
            assertThat(received.add(number(call))).isTrue();
            assertThat(call.callerNode()).isEqualTo("n1");
            if (i == 39) {
                call.reply(answer(call));
            } else if (i % 3 == 0) {
                call.reply(answer(call));
                call = server.receive(GENEROUS);
            } else {
                call = server.replyAndReceive(call, answer(call), GENEROUS);
            }
        }
        for (int i = 0; i < 40; i++) {
            assertAnswered(replies, i);
        }
        assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(LiteTimeoutException.class);
    }

    /** Else nobody would answer the call that was received before it. */
    @Test
    void aFurtherCallForWhichTheNodeHasNoMemoryFailsAlone() {
        RpcServer server = application.rpc().serve("f");
        List<CompletableFuture<byte[]>> replies = queue(server, 4);
        AtomicInteger taken = new AtomicInteger();
        IntFunction<byte[]> memory = length -> {
            if (taken.incrementAndGet() == 2) {
                throw new OutOfMemoryError("on purpose");
            }
            return new byte[length];
        };
        Object rpc = Inside.field(cluster.node(0), "rpc", Object.class);
        Inside.set(Inside.field(rpc, "arrivals", Object.class), "memory", memory);

        RpcCall call = server.receive(GENEROUS);
        assertThat(number(call)).isZero();
        call = server.replyAndReceive(call, answer(call), GENEROUS);
        assertThat(number(call)).isEqualTo(2);
        call = server.replyAndReceive(call, answer(call), GENEROUS);
        call.reply(answer(call));

        assertNotServed(replies.get(1));
        assertAnswered(replies, 0);
        assertAnswered(replies, 2);
        assertAnswered(replies, 3);
    }

    @Test
    void aSecondThreadReceivesTheCallsThatCameWithTheFirstThreadsCall() {
        RpcServer server = application.rpc().serve("f");
        List<CompletableFuture<byte[]>> replies = queue(server, 10);
        RpcCall first = server.receive(GENEROUS); // not answered yet, as by a handler that takes long
        CompletableFuture<Void> others = CompletableFuture.runAsync(() -> {
            for (int i = 1; i < 10; i++) {
                RpcCall call = server.receive(GENEROUS);
                call.reply(answer(call));
            }
        });
        others.join();
        first.reply(answer(first));
        for (int i = 0; i < 10; i++) {
            assertAnswered(replies, i);
        }
    }

    @Test
    void noCallIsTakenInAdvanceOnceASecondThreadHasReceived() {
        RpcServer server = application.rpc().serve("f");
        assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(LiteTimeoutException.class);
        CompletableFuture.runAsync(
                        () -> assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(LiteTimeoutException.class))
                .join();
        List<CompletableFuture<byte[]>> replies = queue(server, 5);
        RpcCall call = server.receive(GENEROUS);
        assertThat(cluster.node(0).figures().queuedCalls()).isEqualTo(4);
        call.reply(answer(call));
        assertAnswered(replies, number(call));
    }

    @Test
    void aServerThatIsClosedRefusesTheCallsThatNoThreadHasTaken() {
        RpcServer server = application.rpc().serve("f");
        List<CompletableFuture<byte[]>> replies = queue(server, 10);
        RpcCall call = server.receive(GENEROUS);
        server.close();
        for (int i = 0; i < 10; i++) {
            if (i != number(call)) {
                assertNotServed(replies.get(i));
            }
        }
        call.reply(answer(call));
        assertAnswered(replies, number(call));
    }

    @Test
    void anApplicationThatClosesItsSessionSendsItsRepliesAndRefusesTheRest() {
        for (int round = 0; round < 20; round++) {
            Lite leaving = attach();
            RpcServer server = leaving.rpc().serve("f" + round);
            List<CompletableFuture<byte[]>> replies = queue(server, 4);
            RpcCall first = server.receive(GENEROUS);
            RpcCall second = server.replyAndReceive(first, answer(first), GENEROUS);
            second.reply(answer(second));
            leaving.close();
            for (int i = 0; i < 4; i++) {
                if (i == number(first) || i == number(second)) {
                    assertAnswered(replies, i);
                } else {
                    assertNotServed(replies.get(i));
                }
            }
        }
    }

    @Test
    void aSecondServerLeavesEachCallToTheThreadThatReceivesIt() {
        RpcServer server = application.rpc().serve("f");
        try (Lite other = attach()) {
            RpcServer second = other.rpc().serve("f");
            List<CompletableFuture<byte[]>> replies = queue(server, 6);
            for (int i = 0; i < 6; i++) {
                RpcCall call = (i % 2 == 0 ? server : second).receive(GENEROUS);
                assertThat(cluster.node(0).figures().queuedCalls()).isEqualTo(5 - i);
                call.reply(answer(call));
            }
            for (int i = 0; i < 6; i++) {
                assertAnswered(replies, i);
            }
        }
    }

    @Test
    void callsThatDoNotFitIntoOneWindowComeWithTheNextOne() {
        RpcServer server = application.rpc().serve("f");
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            byte[] request = new byte[3000];
            request[2999] = (byte) i;
            replies.add(caller.rpc().callAsync("n0", "f", request, GENEROUS));
        }
        for (int i = 0; i < 12; i++) {
            RpcCall call = server.receive(GENEROUS);
            assertThat(call.request().byteSize()).isEqualTo(3000);
            call.reply(bytes("reply " + call.request().get(ValueLayout.JAVA_BYTE, 2999)));
        }
        for (int i = 0; i < 12; i++) {
            assertThat(replies.get(i).join()).asString().isEqualTo("reply " + i);
        }
    }

    @Test
    void aReplyThatIsTooLongForItsCallerLeavesTheCallUnanswered() {
        RpcServer server = application.rpc().serve("f");
        MemorySegment room = MemorySegment.ofArray(new byte[4]);
        CompletableFuture<Long> length = CompletableFuture.supplyAsync(
                () -> caller.rpc().bind("n0", "f").call(MemorySegment.ofArray(bytes("x")), room, GENEROUS));
        RpcCall call = server.receive(GENEROUS);
        assertThatThrownBy(() -> call.reply(new byte[5]))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("the reply has 5 bytes; the caller takes at most 4");
        call.reply(bytes("fits"));
        assertThat(length.join()).isEqualTo(4);
    }

    @Test
    void handlersStartOnlyAsManyCallsAsTheyMayServeAtOnce() {
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        RpcServer unused = application.rpc().register("f", 3, call -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            running.decrementAndGet();
            return call.request();
        });
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            replies.add(caller.rpc().callAsync("n0", "f", bytes("call " + i), GENEROUS));
        }
        for (int i = 0; i < 200; i++) {
            assertThat(replies.get(i).join()).asString().isEqualTo("call " + i);
        }
        assertThat(most.get()).isBetween(1, 3);
    }
}
