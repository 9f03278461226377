package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrSpec;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Replies of an attached application that its node cannot send: their callers learn it long before their deadline. */
class LostRepliesTest {
    private static final Duration LONG = Waits.seconds(120);
    private static final Duration SOON = Waits.seconds(30);
    /** Too long for the reply slots that short replies have. */
    private static final byte[] LONG_REPLY = new byte[3000];

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(1).withQueueDepth(8));
    private TestCluster cluster;
    private SessionServer sessions;
    private Lite application;
    private RpcServer function;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, network.provider()).start(2);
        sessions = new SessionServer(SessionServerConfig.of(root.resolve("n1.sock")), cluster.node(1));
        sessions.start();
        application = Lite.attach(AttachOptions.to(sessions.socket(), "app"));
        function = application.rpc().serve("f");
    }

    @AfterEach
    void stop() {
        application.close();
        sessions.close();
        cluster.close();
    }

    /** Whether the node has begun to send each reply, and waits with none of them any more. */
    private boolean hasNoReplyToSend() {
        Map<?, ?> connections = Inside.field(sessions, "connections", Map.class);
        Object session = connections.keySet().iterator().next();
        Object commands = Inside.field(Inside.field(session, "worker", Object.class), "rpc", Object.class);
        Object received = Inside.field(commands, "received", Object.class);
        return Inside.field(received, "calls", Map.class).isEmpty()
                && Inside.field(commands, "running", AtomicInteger.class).get() == 0;
    }

    private CompletableFuture<byte[]> call() {
        return cluster.attach(0).rpc().callAsync("n1", "f", new byte[8], LONG);
    }

    /** After it, the node of the application has no memory for further reply slots. */
    private void fillArena() {
        CompletableFuture<byte[]> short1 = call();
        function.receive(LONG).reply(new byte[1]); // so that there are slots for short replies
        assertThat(short1).succeedsWithin(SOON);
        Lite filler = cluster.attach(1);
        for (long bytes = 1 << 20; bytes >= 64; bytes /= 2) {
            long each = bytes;
            assertThatThrownBy(() -> {
                        while (true) {
                            filler.memory().malloc(LmrSpec.of(each));
                        }
                    })
                    .isInstanceOf(LimitExceededException.class);
        }
    }

    private static void assertNotSent(CompletableFuture<byte[]> call) {
        assertThat(call)
                .failsWithin(SOON)
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.UNKNOWN))
                .withMessageContaining("its reply could not be sent");
    }

    @Test
    void aReplyForWhichTheNodeHasNoMemoryFailsItsCall() {
        fillArena();
        CompletableFuture<byte[]> call = call();
        function.receive(LONG).reply(LONG_REPLY);
        assertNotSent(call);
    }

    @Test
    void aReplyForWhichTheNodeHasNoMemoryFailsItsCallAndItsThreadReceivesTheNext() {
        fillArena();
        CompletableFuture<byte[]> call = call();
        RpcCall first = function.receive(LONG);
        CompletableFuture<RpcCall> second = CompletableFuture.supplyAsync(
                () -> function.replyAndReceive(first, MemorySegment.ofArray(LONG_REPLY), LONG));
        assertNotSent(call);
        CompletableFuture<byte[]> next = call();
        assertThat(second).succeedsWithin(SOON);
        second.join().reply(new byte[1]);
        assertThat(next).succeedsWithin(SOON);
    }

    @Test
    void repliesToANodeThatDoesNotReadForLongFailTheirCallsWhenItReadsAgain() {
        int count = 40;
        List<CompletableFuture<byte[]>> calls = new ArrayList<>();
        List<RpcCall> received = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            calls.add(call());
        }
        while (received.size() < count) {
            received.add(function.receive(LONG));
        }
        network.pause("n0");
        try {
            received.forEach(call -> call.reply(new byte[20_000]));
            Waits.until("the node has sent each reply or given it up", SOON, this::hasNoReplyToSend);
        } finally {
            network.resume("n0");
        }
        calls.forEach(call -> assertThat(call.handle((reply, why) -> true)).succeedsWithin(SOON));
        assertThat(calls).anyMatch(call -> !call.isCompletedExceptionally());
    }
}
