package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls whose memory is closed while they wait. */
class ClosedMemoryTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final int BYTES = 1000; // each request is in the ring

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void aRequestThatIsClosedWhileItWaitsForRoomLeavesTheRingToLaterCalls() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite caller = cluster.attach(0);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f");
                Arena own = Arena.ofShared()) {
            RpcClient client = caller.rpc().bind("n1", "f");
            CompletableFuture<byte[]> first = client.callAsync(new byte[BYTES], LONG); // makes the ring
            server.receive(LONG).reply(MemorySegment.ofArray(new byte[1]));
            assertThat(first.join()).hasSize(1);
            List<CompletableFuture<byte[]>> calls = new ArrayList<>();
            for (int entry = 1; entry < RpcWire.RING_BYTES / RpcWire.entryBytes(BYTES, false); entry++) {
                calls.add(client.callAsync(new byte[BYTES], LONG));
            }
            Arena arena = Arena.ofShared();
            MemorySegment request = arena.allocate(BYTES);
            MemorySegment reply = own.allocate(8);
            AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
            Thread waiting = Thread.ofPlatform().daemon().start(() -> {
                try {
                    long unused = client.call(request, reply, LONG);
                } catch (RuntimeException e) {
                    thrown.set(e);
                }
            });
            Waits.until("it waits for room", () -> waiting.getState() == Thread.State.TIMED_WAITING);

            arena.close();
            for (int i = 0; i < calls.size(); i++) {
                server.receive(LONG).reply(MemorySegment.ofArray(new byte[1]));
            }
            for (CompletableFuture<byte[]> call : calls) {
                assertThat(call.join()).hasSize(1);
            }
            answer(server, waiting);
            for (int i = 0; i < 3 * calls.size(); i++) {
                CompletableFuture<byte[]> call = client.callAsync(new byte[BYTES], Waits.seconds(3));
                server.receive(Waits.seconds(5)).reply(MemorySegment.ofArray(new byte[2]));
                assertThat(call.join()).hasSize(2);
            }
            assertThat(thrown.get()).isNull();
        }
    }

    /** As when another thread closes it after the reply was checked: a reply may wait for a slot for seconds. */
    @Test
    void aReplyWhoseMemoryIsClosedMeanwhileKeepsNoSlot() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite caller = cluster.attach(0);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            CompletableFuture<byte[]> called = caller.rpc().bind("n1", "f").callAsync(new byte[8], LONG);
            ReceivedCall call = (ReceivedCall) server.receive(LONG);
            Arena arena = Arena.ofShared();
            MemorySegment closed = arena.allocate(8);
            arena.close();

            for (int i = 0; i < RpcSlots.SMALL_MAX; i++) {
                assertThatThrownBy(() -> call.replySoon(closed)).isInstanceOf(IllegalStateException.class);
            }

            call.reply(MemorySegment.ofArray(new byte[1]));
            assertThat(called.join()).hasSize(1);
        }
    }

    /** Ends the call of the thread, if it was sent. */
    private static void answer(RpcServer server, Thread waiting) {
        while (waiting.isAlive()) {
            try {
                RpcCall call = server.receive(Duration.ofMillis(20));
                call.reply(MemorySegment.ofArray(new byte[1]));
            } catch (dev.lite.api.LiteTimeoutException e) {
                assertThat(e).isNotNull(); // it failed before it was sent
            }
        }
    }
}
