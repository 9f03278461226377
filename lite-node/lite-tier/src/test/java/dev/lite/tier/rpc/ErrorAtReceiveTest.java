package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call for whose request the server's node has no memory. */
class ErrorAtReceiveTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final byte[] REQUEST = new byte[1000];
    /** As many requests as fill a ring. */
    private static final int CALLS = RpcWire.RING_BYTES / REQUEST.length;

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;
    private RpcServer server;
    private RpcEngine engine;

    @BeforeEach
    void serve() {
        cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
        server = cluster.attach(1).rpc().serve("f");
        engine = Inside.field(cluster.node(1), "rpc", RpcEngine.class);
    }

    @AfterEach
    void close() {
        cluster.close();
    }

    private RpcClient client(int callingNode) {
        return cluster.attach(callingNode).rpc().bind("n1", "f");
    }

    /** Else the ring's head would stay before it until the connection ends; a call of the node to itself would keep its slot. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void itFailsAndTheNextOnesAreReceived(int callingNode) {
        RpcClient client = client(callingNode);
        RpcArrivals arrivals = engine.arrivals();
        arrivals.memory = length -> {
            throw new OutOfMemoryError("on purpose");
        };
        for (int i = 0; i < CALLS; i++) {
            CompletableFuture<byte[]> call = client.callAsync(REQUEST, LONG);
            assertThatThrownBy(() -> server.receive(LONG)).isInstanceOf(OutOfMemoryError.class);
            assertNotServed(call);
        }
        arrivals.memory = byte[]::new;
        for (int i = 0; i < 2 * CALLS; i++) {
            CompletableFuture<byte[]> call = client.callAsync(REQUEST, LONG);
            server.receive(LONG).reply(new byte[1]);
            assertThat(call).succeedsWithin(LONG);
        }
    }

    /** Likewise. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void afterAnotherErrorItIsReceivedLater(int callingNode) {
        RpcClient client = client(callingNode);
        RpcArrivals arrivals = engine.arrivals();
        for (int i = 0; i < 2 * CALLS; i++) {
            CompletableFuture<byte[]> call = client.callAsync(REQUEST, LONG);
            arrivals.memory = length -> {
                throw new StackOverflowError("on purpose");
            };
            assertThatThrownBy(() -> server.receive(LONG)).isInstanceOf(StackOverflowError.class);
            arrivals.memory = byte[]::new;
            server.receive(LONG).reply(new byte[1]);
            assertThat(call).succeedsWithin(LONG);
        }
    }

    /** Nobody receives it later, so it is refused like a call of a function without servers. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void afterAnotherErrorItIsRefusedIfTheLastServerWasClosedMeanwhile(int callingNode) {
        CompletableFuture<byte[]> call = client(callingNode).callAsync(REQUEST, LONG.multipliedBy(4));
        engine.arrivals().memory = length -> {
            engine.arrivals().memory = byte[]::new;
            server.close();
            throw new StackOverflowError("on purpose");
        };
        assertThatThrownBy(() -> server.receive(LONG)).isInstanceOf(StackOverflowError.class);
        assertNotServed(call);
        assertThat(engine.queuedCalls()).isZero();
    }

    /** Likewise: its caller cancels it, which needs no memory. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void afterAnotherErrorItsCallerCanCancelIt(int callingNode) {
        RpcClient client = client(callingNode);
        CompletableFuture<byte[]> first = client.callAsync(REQUEST, LONG); // binds the function
        server.receive(LONG).reply(new byte[1]);
        assertThat(first).succeedsWithin(LONG);
        engine.arrivals().memory = length -> {
            throw new StackOverflowError("on purpose");
        };
        CompletableFuture<byte[]> call = client.callAsync(REQUEST, Waits.seconds(1));
        assertThatThrownBy(() -> server.receive(LONG)).isInstanceOf(StackOverflowError.class);
        assertThat(call).failsWithin(LONG).withThrowableThat().withCauseInstanceOf(LiteTimeoutException.class);
        Waits.until("it was cancelled", () -> engine.queuedCalls() == 0);
        RpcEngine callers = Inside.field(cluster.node(callingNode), "rpc", RpcEngine.class);
        ErrorAtArrivalTest.awaitFreeSlots(callers);
    }

    private static void assertNotServed(CompletableFuture<byte[]> call) {
        assertThat(call)
                .failsWithin(LONG)
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED));
    }

    /** One of them does not keep the others from being refused. */
    @Test
    void theCallsThatAreQueuedWhenTheirServerIsClosedAreAllRefused() {
        RpcClient client = client(0);
        List<CompletableFuture<byte[]>> calls = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            calls.add(client.callAsync(REQUEST, LONG));
        }
        Waits.until("they are queued", () -> engine.queuedCalls() == calls.size());
        engine.arrivals().memory = length -> {
            throw new OutOfMemoryError("on purpose");
        };
        server.close();
        calls.forEach(ErrorAtReceiveTest::assertNotServed);
    }
}
