package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
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

    /** Else the ring's head would stay before it until the connection ends; a call of the node to itself would keep its slot. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void itFailsAndTheNextOnesAreReceived(int callingNode) {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite calling = cluster.attach(callingNode);
                Lite serving = cluster.attach(1);
                RpcServer server = serving.rpc().serve("f")) {
            RpcClient client = calling.rpc().bind("n1", "f");
            RpcArrivals arrivals =
                    Inside.field(cluster.node(1), "rpc", RpcEngine.class).arrivals();
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
    }

    /** Likewise. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void afterAnotherErrorItIsReceivedLater(int callingNode) {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite calling = cluster.attach(callingNode);
                Lite serving = cluster.attach(1);
                RpcServer server = serving.rpc().serve("f")) {
            RpcClient client = calling.rpc().bind("n1", "f");
            RpcArrivals arrivals =
                    Inside.field(cluster.node(1), "rpc", RpcEngine.class).arrivals();
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
    }

    /** Likewise: its caller cancels it, which needs no memory. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void afterAnotherErrorItsCallerCanCancelIt(int callingNode) {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite calling = cluster.attach(callingNode);
                Lite serving = cluster.attach(1);
                RpcServer server = serving.rpc().serve("f")) {
            RpcClient client = calling.rpc().bind("n1", "f");
            RpcEngine engine = Inside.field(cluster.node(1), "rpc", RpcEngine.class);
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
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite calling = cluster.attach(0);
                Lite serving = cluster.attach(1)) {
            RpcServer server = serving.rpc().serve("f");
            RpcClient client = calling.rpc().bind("n1", "f");
            RpcEngine engine = Inside.field(cluster.node(1), "rpc", RpcEngine.class);
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
}
