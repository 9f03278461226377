package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A call of a node to itself that meets an error on its way to the function, or on the way back from it. */
class ErrorAtArrivalTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final byte[] REQUEST = new byte[8];

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;
    private RpcEngine engine;
    private TierSession session;
    private FunctionServer server;
    private FunctionClient client;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
        engine = Inside.field(cluster.node(1), "rpc", RpcEngine.class);
        session = cluster.node(1).open("app", "test");
        server = (FunctionServer) session.rpc().serve("f");
        client = (FunctionClient) session.rpc().bind("n1", "f");
        CompletableFuture<byte[]> first = client.callAsync(REQUEST, LONG); // makes the slots
        server.receive(LONG).reply(new byte[1]);
        assertThat(first).succeedsWithin(LONG);
    }

    @AfterEach
    void stop() {
        session.close();
        cluster.close();
    }

    private void awaitFreeSlots() {
        awaitFreeSlots(engine);
    }

    static void awaitFreeSlots(RpcEngine engine) {
        RpcSlots slots = Inside.field(engine, "slots", RpcSlots.class);
        Waits.until(
                "every slot is free",
                () -> IntStream.range(0, RpcSlots.COUNT_MAX)
                        .mapToObj(slots::get)
                        .allMatch(slot -> slot == null || slot.state() == RpcSlot.FREE));
    }

    private static void isNotServed(Throwable thrown) {
        assertThat(thrown)
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED));
    }

    /** Takes a call, does not answer it, and fails then. */
    private static final class FailingReceive extends PostedReceive {
        private boolean fails;

        @Override
        protected boolean received(ReceivedCall call) {
            fails = true;
            return false;
        }

        @Override
        protected void failed(RuntimeException why) {}

        @Override
        protected void waits() {
            if (fails) {
                throw new OutOfMemoryError("on purpose");
            }
        }

        @Override
        protected void later(Runnable task) {
            throw new UnsupportedOperationException();
        }
    }

    @Test
    void afterItItsCallerHasTheErrorAndKeepsNoSlot() {
        server.receive(new FailingReceive());
        assertThatThrownBy(() -> client.call(REQUEST, LONG)).isInstanceOf(OutOfMemoryError.class);
        awaitFreeSlots();
    }

    @Test
    void afterItACallForWhichNoThreadWaitsFailsAndKeepsNoSlot() {
        server.receive(new FailingReceive());
        assertThat(client.callAsync(REQUEST, LONG))
                .failsWithin(LONG)
                .withThrowableThat()
                .withCauseInstanceOf(RpcFailedException.class)
                .withMessageContaining("on purpose");
        awaitFreeSlots();
    }

    /** The function stays known as long as another node has a ring for it. */
    @Test
    void aCallThatNobodyServesNeedsNoReply() {
        try (Lite other = cluster.attach(0)) {
            CompletableFuture<byte[]> ring = other.rpc().bind("n1", "f").callAsync(REQUEST, LONG);
            server.receive(LONG).reply(new byte[1]);
            assertThat(ring).succeedsWithin(LONG);
            server.close();
            withoutReplies(() -> {
                assertThatThrownBy(() -> client.call(REQUEST, LONG)).satisfies(ErrorAtArrivalTest::isNotServed);
                assertThat(client.callAsync(REQUEST, LONG))
                        .failsWithin(LONG)
                        .withThrowableThat()
                        .havingCause()
                        .satisfies(ErrorAtArrivalTest::isNotServed);
            });
            awaitFreeSlots();
        }
    }

    /** Else its slot would not come back until the node stops. */
    @Test
    void aCallThatCannotBeRefusedWhenItsServerIsClosedEndsAtItsDeadlineAndKeepsNoSlot() {
        CompletableFuture<byte[]> call = client.callAsync(REQUEST, Waits.seconds(1));
        Waits.until("it is queued", () -> engine.queuedCalls() == 1);
        withoutReplies(server::close);
        assertThat(call).failsWithin(LONG).withThrowableThat().withCauseInstanceOf(LiteTimeoutException.class);
        awaitFreeSlots();
    }

    /** Likewise. */
    @Test
    void aCallWithoutMemoryThatCannotBeAnsweredEndsAtItsDeadlineAndKeepsNoSlot() {
        CompletableFuture<byte[]> call = client.callAsync(REQUEST, Waits.seconds(1));
        Waits.until("it is queued", () -> engine.queuedCalls() == 1);
        engine.arrivals().memory = length -> {
            throw new OutOfMemoryError("on purpose");
        };
        withoutReplies(() -> assertThatThrownBy(() -> server.receive(LONG)).isInstanceOf(OutOfMemoryError.class));
        assertThat(call).failsWithin(LONG).withThrowableThat().withCauseInstanceOf(LiteTimeoutException.class);
        awaitFreeSlots();
    }

    /** Each reply fails meanwhile, before it is sent. */
    @SuppressWarnings("NullAway")
    private void withoutReplies(Runnable action) {
        RpcReplies works = Inside.field(engine.arrivals(), "replies", RpcReplies.class);
        Inside.set(engine.arrivals(), "replies", null);
        try {
            action.run();
        } finally {
            Inside.set(engine.arrivals(), "replies", works);
        }
    }

    /** Fails at its end. */
    private static final class FailingCall extends PostedCall {
        @Override
        protected MemorySegment destination(int length) {
            return MemorySegment.ofArray(new byte[length]);
        }

        @Override
        protected void replied(int length) {
            throw new OutOfMemoryError("on purpose");
        }

        @Override
        protected void failed(RuntimeException why) {
            throw new OutOfMemoryError("on purpose");
        }

        @Override
        protected void later(Runnable task) {
            throw new UnsupportedOperationException();
        }
    }

    /** Else they would wait until their deadlines, and the ring of another node would never have room again. */
    @Test
    void theCallsBehindOneThatFailsWhenItIsRefusedAreRefusedToo() {
        assertThat(client.tryCall(MemorySegment.ofArray(REQUEST), REQUEST.length, LONG.toNanos(), new FailingCall()))
                .isTrue();
        CompletableFuture<byte[]> next = client.callAsync(REQUEST, LONG);
        Waits.until("both are queued", () -> engine.queuedCalls() == 2);
        server.close();
        assertThat(next).failsWithin(LONG).withThrowableThat().havingCause().satisfies(ErrorAtArrivalTest::isNotServed);
        awaitFreeSlots();
    }

    /** Likewise. */
    @Test
    void theReceivesBehindOneThatFailsWhenItsServerIsClosedEndToo() {
        RpcServer other = session.rpc().serve("f");
        FailingReceive failing = new FailingReceive();
        failing.fails = true;
        assertThatThrownBy(() -> ((FunctionServer) other).receive(failing)).isInstanceOf(OutOfMemoryError.class);
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread unused = Thread.ofPlatform().daemon().start(() -> {
            try {
                thrown.completeExceptionally(new AssertionError(server.receive(LONG)));
            } catch (RuntimeException e) {
                thrown.complete(e);
            }
        });
        RpcFunction function = Inside.field(server, "served", RpcFunction.class);
        Waits.until(
                "both wait",
                () -> Inside.field(function, "receivers", ArrayDeque.class).size() == 2);
        server.close();
        assertThat(thrown).succeedsWithin(LONG).isInstanceOf(SessionLostException.class);
        other.close();
    }
}
