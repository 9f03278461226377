package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.TestPeers;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls of a node that cannot start a thread for a while. */
class CallsWithoutThreadsTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final Executor NO_THREADS = task -> {
        throw new OutOfMemoryError("unable to create a thread, on purpose");
    };
    private static final int CALLS = 40;
    /** So long that few such requests fit into a ring. */
    private static final int REQUEST_BYTES = 2 << 10;

    private static final int ENTRY_BYTES = RpcWire.RING_BYTES / 4;

    @TempDir(factory = InDevShm.class)
    Path root;

    private interface Calls {
        void make(RpcEngine engine, RpcServer server, FunctionClient client);
    }

    private void withRing(Calls calls) {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = (FunctionClient) session.rpc().bind("n1", "f");
            CompletableFuture<byte[]> first = client.callAsync(new byte[8], LONG);
            server.receive(LONG).reply(new byte[1]);
            assertThat(first).succeedsWithin(LONG);
            calls.make(Inside.field(cluster.node(0), "rpc", RpcEngine.class), server, client);
            session.close();
        }
    }

    private static void withoutThreads(RpcEngine engine, Runnable action) {
        Executor works = Inside.field(engine, "executor", Executor.class);
        Inside.set(engine, "executor", NO_THREADS);
        try {
            action.run();
        } finally {
            Inside.set(engine, "executor", works);
        }
    }

    /** How many slots of a node are not free. */
    private static int inUse(RpcEngine engine) {
        RpcSlots slots = Inside.field(engine, "slots", RpcSlots.class);
        int found = 0;
        for (int index = 0; index < RpcSlots.COUNT_MAX; index++) {
            RpcSlot slot = slots.get(index);
            if (slot != null && slot.state() != RpcSlot.FREE) {
                found++;
            }
        }
        return found;
    }

    private static void timesOut(FunctionClient client) {
        assertThat(client.callAsync(new byte[8], SHORT))
                .failsWithin(LONG)
                .withThrowableThat()
                .withCauseInstanceOf(LiteTimeoutException.class);
    }

    /** Else no call to that node would be cancelled any more, and each one that is never answered would keep its slot. */
    @Test
    void aCallThatNoThreadCanCancelEndsAtItsDeadlineAndTheNextOneReturnsItsSlot() {
        withRing((engine, server, client) -> {
            withoutThreads(engine, () -> timesOut(client));
            assertThat(inUse(engine)).isEqualTo(1);

            timesOut(client);

            Waits.until("both slots are free", () -> inUse(engine) == 0);
        });
    }

    /** Likewise. */
    @Test
    void aRequestToCancelCallsThatFailsIsRepeated() {
        withRing((engine, server, client) -> {
            RpcCancels cancels = Inside.field(engine, "cancels", RpcCancels.class);
            RpcCancels.CancelRequest works = Inside.field(cancels, "request", RpcCancels.CancelRequest.class);
            AtomicBoolean failed = new AtomicBoolean();
            RpcCancels.CancelRequest failsOnce = (peer, calls, deadline) -> {
                if (failed.compareAndSet(false, true)) {
                    throw new OutOfMemoryError("on purpose");
                }
                return works.ask(peer, calls, deadline);
            };
            Inside.set(cancels, "request", failsOnce);

            timesOut(client);

            Waits.until("its slot is free", () -> inUse(engine) == 0);
            assertThat(failed).isTrue();
        });
    }

    /** A larger ring only saves time. */
    @Test
    void callsInACrowdedRingAreMadeAlsoIfNoThreadCanAskForALargerOne() {
        withRing((engine, server, client) -> {
            List<CompletableFuture<byte[]>> calls = new ArrayList<>();
            withoutThreads(engine, () -> {
                for (int i = 0; i < CALLS; i++) {
                    assertThatCode(() -> calls.add(client.callAsync(new byte[REQUEST_BYTES], LONG)))
                            .doesNotThrowAnyException();
                }
            });
            for (int i = 0; i < CALLS; i++) {
                RpcCall call = server.receive(LONG);
                assertThat(call.request().byteSize()).isEqualTo(REQUEST_BYTES);
                call.reply(new byte[1]);
            }
            assertThat(calls).allSatisfy(call -> assertThat(call).succeedsWithin(LONG));
            Waits.until("all slots are free", () -> inUse(engine) == 0);
        });
    }

    /** Else the ring would stay full until the end of the connection. */
    @Test
    @SuppressWarnings("NullAway") // the function is not used
    void theRoomInARingIsReportedAlsoIfNoThreadCanWaitForTheBusyConnection() {
        try (Arena arena = Arena.ofShared()) {
            long memory =
                    arena.allocate(2L * RpcWire.UNIT_BYTES, RpcWire.UNIT_BYTES).address();
            MemoryEndpoint endpoint = new MemoryEndpoint(0, Long.MAX_VALUE);
            long head = memory + RpcWire.UNIT_BYTES;
            Peer peer = TestPeers.connect(1, endpoint);
            RpcSlots slots = new RpcSlots(0, bytes -> 0); // nothing is written to them
            AtomicReferenceArray<ReceivedCall> received = new AtomicReferenceArray<>(0);
            RpcSlotShare replies = slots.replies("n0", "f");
            AtomicInteger started = new AtomicInteger();
            Executor noThreads = task -> {
                started.incrementAndGet();
                NO_THREADS.execute(task);
            };
            RpcRing ring = new RpcRing(
                    peer, 0, null, "a", replies, received, memory, 0, RpcWire.RING_BYTES, head, 1, noThreads);
            RpcBinding binding = new RpcBinding(peer, 0, 0, RpcWire.RING_BYTES, 0, head, 1, slots.calls("a", "f"));
            for (int place = 0; place < RpcWire.RING_BYTES; place += ENTRY_BYTES) {
                assertThat(binding.tryReserve(ENTRY_BYTES)).isNotNegative();
            }
            assertThat(binding.tryReserve(ENTRY_BYTES)).isNegative();
            endpoint.busy.set(2);

            for (int place = 0; place < RpcWire.RING_BYTES; place += ENTRY_BYTES) {
                int its = place;
                assertThatCode(() -> consume(ring, its)).doesNotThrowAnyException();
            }

            Waits.until("there is room", () -> binding.tryReserve(ENTRY_BYTES) >= 0);
            assertThat(started).hasValue(2);
        }
    }

    private static void consume(RpcRing ring, int place) {
        synchronized (ring) {
            ring.consume(place, 0, ENTRY_BYTES);
        }
    }
}
