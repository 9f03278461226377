package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.Lite;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.waiting.DeadlineSweeper;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A call whose post fails: for example, the server's node has given a ring that does not lie in its arena. */
class ErrorAtPostTest {
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private interface Posts {
        void of(FunctionClient client, RpcBinding binding);
    }

    /** Else no thread would poll the fabric any more. */
    @Test
    void itsThreadDoesNotKeepThePollRole() {
        withFailingPosts((client, binding) -> {
            assertThatThrownBy(() -> client.call(new byte[8], LONG)).isInstanceOf(IndexOutOfBoundsException.class);

            Waits.until("the role is free", binding.peer.pollRole()::take);
            binding.peer.pollRole().release();
        });
    }

    /** Else such calls would use up the slots of their function, also for the next connection. */
    @Test
    void itReturnsItsSlot() {
        withFailingPosts((client, binding) -> {
            assertThatThrownBy(() -> client.call(new byte[8], LONG)).isInstanceOf(IndexOutOfBoundsException.class);

            Waits.until("its slot is free", () -> slots(binding.peer) == 0);
        });
    }

    @Test
    void aCallForWhichNoThreadWaitsReturnsItsSlotAndFails() {
        withFailingPosts((client, binding) -> {
            assertThat(client.callAsync(new byte[8], LONG))
                    .failsWithin(LONG)
                    .withThrowableThat()
                    .withCauseInstanceOf(IndexOutOfBoundsException.class);

            Waits.until("its slot is free", () -> slots(binding.peer) == 0);
        });
    }

    /** Else its slot never comes back while the connection lasts. */
    @Test
    void oneThatMeetsAnErrorWhileItWaitsForABusyConnectionKeepsNoSlot() {
        withPosts((client, binding) -> {
            FabricEndpoint endpoint = binding.peer.endpoint();
            Inside.set(binding.peer, "endpoint", ErrorAtReplyTest.failing(endpoint, 3));
            assertThatThrownBy(() -> client.call(new byte[8], LONG)).isInstanceOf(OutOfMemoryError.class);
            Waits.until("its slot is free", () -> slots(binding.peer) == 0);
            Inside.set(binding.peer, "endpoint", endpoint);
        });
    }

    /** Else it would post again and again until its deadline, without a pause. */
    @Test
    void oneThatIsInterruptedWhileItWaitsForABusyConnectionEnds() {
        withPosts((client, binding) -> {
            FabricEndpoint endpoint = binding.peer.endpoint();
            Inside.set(binding.peer, "endpoint", ErrorAtReplyTest.failing(endpoint, Integer.MAX_VALUE));
            CompletableFuture<Throwable> failure = new CompletableFuture<>();
            Thread calling = Thread.ofPlatform()
                    .daemon()
                    .start(() -> failure.complete(catchThrowable(() -> client.call(new byte[8], Duration.ofHours(1)))));
            Waits.until("it has a slot", () -> slots(binding.peer) == 1);
            calling.interrupt();
            Waits.join(calling);
            assertThat(failure)
                    .isCompletedWithValueMatching(
                            why -> why instanceof NodeUnreachableException, "an interrupted call");
            Inside.set(binding.peer, "endpoint", endpoint);
            Waits.until("its slot is free", () -> slots(binding.peer) == 0);
        });
    }

    /** Else nobody would send what has the place in the ring, and its slot would never come back while the connection lasts. */
    @Test
    void oneThatMeetsAnErrorAndForWhichThereIsNoThreadKeepsNoSlotAndEndsTheRing() {
        withPosts((client, binding) -> {
            RpcEngine engine = Inside.field(cluster.node(0), "rpc", RpcEngine.class);
            Object usual = Inside.field(engine, "executor", Executor.class);
            FabricEndpoint endpoint = binding.peer.endpoint();
            Inside.set(binding.peer, "endpoint", ErrorAtReplyTest.failing(endpoint, 0));
            Executor noMemory = task -> {
                throw new OutOfMemoryError("on purpose");
            };
            Inside.set(engine, "executor", noMemory);
            assertThatThrownBy(() -> client.call(new byte[8], LONG)).isInstanceOf(OutOfMemoryError.class);
            Inside.set(engine, "executor", usual);
            Inside.set(binding.peer, "endpoint", endpoint);
            Waits.until("its slot is free", () -> slots(binding.peer) == 0);
            Waits.until("its connection has ended", () -> engine.connected(1) != binding.peer);
        });
    }

    /**
     * The start of a virtual thread may throw although another thread runs its task already. If the slot came back twice, two calls
     * would use it at once.
     */
    @Test
    void oneThatMeetsAnErrorAndWhoseThreadRunsAlthoughItsStartThrewReturnsItsSlotOnce() {
        withPosts((client, binding) -> {
            RpcEngine engine = Inside.field(cluster.node(0), "rpc", RpcEngine.class);
            Object usual = Inside.field(engine, "executor", Executor.class);
            FabricEndpoint endpoint = binding.peer.endpoint();
            Inside.set(binding.peer, "endpoint", ErrorAtReplyTest.failing(endpoint, 0));
            Executor startsAndThrows = task -> {
                Inside.set(binding.peer, "endpoint", endpoint);
                Waits.join(Thread.ofVirtual().start(task));
                throw new OutOfMemoryError("on purpose");
            };
            Inside.set(engine, "executor", startsAndThrows);
            assertThatThrownBy(() -> client.call(new byte[8], LONG)).isInstanceOf(OutOfMemoryError.class);
            Inside.set(engine, "executor", usual);
            Waits.until("its slot is free", () -> slots(binding.peer) == 0);
            assertThat(engine.connected(1)).as("the connection").isSameAs(binding.peer);
            RpcSlot one = binding.slots.take(8, System.nanoTime() + LONG.toNanos());
            RpcSlot other = binding.slots.take(8, System.nanoTime() + LONG.toNanos());
            assertThat(other).isNotSameAs(one);
            one.giveBack();
            other.giveBack();
        });
    }

    /** Else the server executes a call whose caller has been told that it failed. */
    @Test
    void aCallWithoutATimerIsNotPosted() {
        try (Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = (FunctionClient) session.rpc().bind("n1", "f");
            CompletableFuture<byte[]> first = client.callAsync(new byte[] {1}, LONG); // makes the ring
            server.receive(LONG).reply(new byte[1]);
            assertThat(first).succeedsWithin(LONG);

            Runnable timersWork = breakTimers();
            CompletableFuture<byte[]> second = client.callAsync(new byte[] {2}, LONG.dividedBy(2));
            timersWork.run();
            CompletableFuture<byte[]> third = client.callAsync(new byte[] {3}, LONG);

            RpcCall request = server.receive(LONG);
            assertThat(request.request().toArray(ValueLayout.JAVA_BYTE)).containsExactly(3);
            request.reply(new byte[1]);
            assertThat(third).succeedsWithin(LONG);
            assertThat(second).failsWithin(LONG).withThrowableThat().withCauseInstanceOf(ClassCastException.class);
            session.close();
        }
    }

    /** Returns what ends it. */
    @SuppressWarnings("unchecked")
    private Runnable breakTimers() {
        RpcEngine engine = Inside.field(cluster.node(0), "rpc", RpcEngine.class);
        DeadlineSweeper sweeper = Inside.field(engine.asyncCalls(), "sweeper", DeadlineSweeper.class);
        PriorityQueue<Object> scheduled = Inside.field(sweeper, "scheduled", PriorityQueue.class);
        scheduled.clear();
        scheduled.add(new Object()); // cannot be compared with a time
        return scheduled::clear;
    }

    /** The slots of calls to a node. */
    private int slots(Peer peer) {
        AtomicInteger found = new AtomicInteger();
        RpcEngine engine = Inside.field(cluster.node(0), "rpc", RpcEngine.class);
        Inside.field(engine, "slots", RpcSlots.class).forEachOf(peer, slot -> found.incrementAndGet());
        return found.get();
    }

    private void withFailingPosts(Posts posts) {
        withPosts((client, binding) -> {
            Inside.set(binding, "ringOffset", Long.MAX_VALUE / 2);
            posts.of(client, binding);
        });
    }

    private void withPosts(Posts posts) {
        try (Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = (FunctionClient) session.rpc().bind("n1", "f");
            CompletableFuture<byte[]> first = client.callAsync(new byte[8], LONG); // makes the ring
            server.receive(LONG).reply(new byte[1]);
            assertThat(first).succeedsWithin(LONG);
            RpcBinding binding = Inside.field(client, "binding", RpcBinding.class);
            Waits.until("the role is free", binding.peer.pollRole()::take);
            binding.peer.pollRole().release();

            posts.of(client, binding);
            session.close();
        }
    }
}
