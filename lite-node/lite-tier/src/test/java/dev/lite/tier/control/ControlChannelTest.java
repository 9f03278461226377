package dev.lite.tier.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.cluster.NodeRecord;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.Post;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Undescribed;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Hello;
import dev.lite.tier.peer.ImmediateKind;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.peer.PeerListener;
import dev.lite.tier.peer.Poster;
import dev.lite.tier.testing.InDevShm;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Requests between two nodes that have only a control channel. */
class ControlChannelTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    private Node caller;
    private Node server;

    /** An arena, its connections and its channel. */
    private static final class Node implements AutoCloseable {
        final NodeArena arena;
        final PeerLinks links;
        final ControlChannel channel;
        final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
        final int id;

        final long process;

        Node(Path root, int id) throws IOException {
            this(root, id, id + 1);
        }

        /** @param process the number of its process, in its hello */
        Node(Path root, int id, long process) throws IOException {
            this(root, id, process, new ShmFabricProvider());
        }

        Node(Path root, int id, long process, FabricProvider provider) throws IOException {
            this(root, id, process, provider, 0);
        }

        /** @param farther by how much the offset of its slots is too large in its hello */
        Node(Path root, int id, long process, FabricProvider provider, long farther) throws IOException {
            this.id = id;
            this.process = process;
            String name = "n" + id;
            Path run = Files.createDirectories(root.resolve("run-" + name));
            arena = NodeArena.open(
                    new ArenaConfig(root, "c", name, ArenaConfig.BYTES_MIN, 64, 4, ArenaConfig.Kept.AFTER_CRASH));
            Hello hello =
                    new Hello("c", id, name, process, arena.id(), arena.controlOffset() + farther, arena.peersMax());
            links = new PeerLinks(
                    hello,
                    "host",
                    List.of(provider),
                    new FabricConfig(name, hello.encode(), run, Map.of()),
                    Map.of(),
                    new FabricMemory(arena.segment(), arena.descriptor()),
                    100);
            channel = new ControlChannel(id, arena, links, executor);
        }

        NodeRecord record() {
            return new NodeRecord("n" + id, id, 1, "host", arena.size(), links.addresses(), process);
        }

        @Override
        public void close() {
            links.close();
            executor.shutdownNow();
            channel.close();
            arena.close();
        }
    }

    @BeforeEach
    void open() throws IOException {
        server = new Node(root, 0);
        caller = new Node(root, 1);
    }

    private void connect() {
        List<NodeRecord> live = List.of(server.record(), caller.record());
        for (Node node : List.of(server, caller)) {
            node.links.start();
            node.links.setLive(live);
        }
    }

    @AfterEach
    void close() {
        caller.close();
        server.close();
    }

    private ControlMessage call(ControlKind kind, ControlMessage request) {
        return caller.channel.call(0, kind, request, Deadline.in(Waits.seconds(10)));
    }

    @Test
    void eachRequestKindIsServedByItsHandlerAndAnswered() {
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> reply.putInt(request.getInt() + node));
        server.channel.serve(ControlKind.COPY, (node, request, reply) -> reply.putName("the name", "copied"));
        caller.channel.serve(ControlKind.COPY, (node, request, reply) -> reply.putName("the name", "own"));
        connect();
        assertThat(call(ControlKind.MEMSET, new ControlMessage().putInt(41)).getInt())
                .isEqualTo(42);
        assertThat(call(ControlKind.COPY, new ControlMessage()).getName("the name"))
                .isEqualTo("copied");
        ControlMessage own =
                caller.channel.call(1, ControlKind.COPY, new ControlMessage(), Deadline.in(Waits.seconds(10)));
        assertThat(own.getName("the name")).isEqualTo("own");
    }

    @Test
    void aRequestKindCanBeRegisteredOnlyOnce() {
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {});
        assertThatIllegalStateException()
                .isThrownBy(() -> server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {}))
                .withMessageContaining("MEMSET");
    }

    @Test
    void anImmediateKindAndAPosterCanBeRegisteredOnlyOnce() {
        assertThatIllegalStateException()
                .isThrownBy(() -> server.links.onImmediate(ImmediateKind.CONTROL_REPLY, (peer, payload) -> {}))
                .withMessageContaining("CONTROL_REPLY");
        server.links.onPostEnd(Poster.ONE_SIDED, (payload, error) -> {});
        assertThatIllegalStateException()
                .isThrownBy(() -> server.links.onPostEnd(Poster.ONE_SIDED, (payload, error) -> {}))
                .withMessageContaining("ONE_SIDED");
    }

    @Test
    void aRequestKindWithoutAHandlerIsRefused() {
        connect();
        assertThatExceptionOfType(RpcFailedException.class)
                .isThrownBy(() -> call(ControlKind.MEMSET, new ControlMessage()))
                .withMessageContaining("node 0 does not serve control requests of the kind MEMSET");
    }

    @Test
    void anyExceptionOfAHandlerIsAnsweredAndTheNextRequestIsServed() {
        Throwable[] thrown = {
            new LmrNotFoundException("no such LMR"),
            new IllegalStateException("a defect"),
            new AssertionError("an error"),
            new StackOverflowError("too deep")
        };
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {
            int which = request.getInt();
            if (which < thrown.length) {
                ControlChannelTest.<RuntimeException>doThrow(thrown[which]);
            }
            reply.putInt(which);
        });
        connect();
        assertThatExceptionOfType(LmrNotFoundException.class)
                .isThrownBy(() -> call(ControlKind.MEMSET, new ControlMessage().putInt(0)))
                .withMessage("no such LMR");
        for (int which = 1; which < thrown.length; which++) {
            ControlMessage request = new ControlMessage().putInt(which);
            assertThatExceptionOfType(RpcFailedException.class)
                    .isThrownBy(() -> call(ControlKind.MEMSET, request))
                    .withMessageContaining(thrown[which].toString());
        }
        for (int round = 0; round < 10; round++) { // more rounds than there are slots
            assertThat(call(ControlKind.MEMSET, new ControlMessage().putInt(9)).getInt())
                    .isEqualTo(9);
        }
    }

    /** Else some such requests would use up the slots, and later ones would wait for one until their deadlines. */
    @Test
    void aRequestThatCannotBePostedReturnsItsSlot() throws IOException {
        try (Node strange = new Node(root, 2, 3, new ShmFabricProvider(), 1L << 40)) {
            List<NodeRecord> live = List.of(strange.record(), caller.record());
            for (Node node : List.of(strange, caller)) {
                node.links.start();
                node.links.setLive(live);
            }
            for (int round = 0; round < 10; round++) { // more rounds than there are slots
                assertThatExceptionOfType(IndexOutOfBoundsException.class)
                        .isThrownBy(() -> caller.channel.call(
                                2, ControlKind.MEMSET, new ControlMessage(), Deadline.in(Waits.seconds(10))));
            }
        }
    }

    /** Else the caller would wait until its deadline, and four such requests would use up the slots of a connection. */
    private void failsAtOnceAndTheNextOnesAreServed(Runnable withoutMemory, Runnable withMemory) {
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {
            if (request.getInt() != 0) {
                throw new Undescribed();
            }
        });
        connect();
        assertThat(call(ControlKind.MEMSET, new ControlMessage().putInt(0))).isNotNull();
        for (int round = 0; round < 5; round++) { // more rounds than there are slots
            withoutMemory.run();
            assertThatExceptionOfType(LiteException.class)
                    .isThrownBy(() -> call(ControlKind.MEMSET, new ControlMessage().putInt(1)))
                    .isNotInstanceOf(LiteTimeoutException.class);
            withMemory.run();
            assertThat(call(ControlKind.MEMSET, new ControlMessage().putInt(0))).isNotNull();
        }
    }

    @Test
    void aRequestForWhoseAnswerThereIsNoMemoryFailsAtOnceAndKeepsNoSlot() {
        failsAtOnceAndTheNextOnesAreServed(() -> {}, () -> {});
    }

    @Test
    void aRequestForWhichThereIsNoThreadFailsAtOnceAndKeepsNoSlot() {
        Executor none = task -> {
            throw new OutOfMemoryError("unable to create a thread, on purpose");
        };
        failsAtOnceAndTheNextOnesAreServed(
                () -> Inside.set(server.channel, "executor", none),
                () -> Inside.set(server.channel, "executor", server.executor));
    }

    @Test
    void aRequestForWhichThereIsNoMemoryFailsAtOnceAndKeepsNoSlot() {
        failsAtOnceAndTheNextOnesAreServed(
                () -> server.channel.memory = ControlChannelTest::noMemory, () -> server.channel.memory = byte[]::new);
    }

    private static byte[] noMemory(int length) {
        throw new OutOfMemoryError("no memory for %d bytes, on purpose".formatted(length));
    }

    /** Likewise. Its connection ends, so that nobody takes it for a request that was not executed. */
    @Test
    void aRequestForWhoseReplyThereIsNoMemoryFailsAtOnceAndKeepsNoSlot() {
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {});
        connect();
        for (int round = 0; round < 5; round++) { // more rounds than there are slots
            caller.channel.memory = ControlChannelTest::noMemory;
            assertThatExceptionOfType(NodeUnreachableException.class)
                    .isThrownBy(() -> call(ControlKind.MEMSET, new ControlMessage()));
            caller.channel.memory = byte[]::new;
            assertThat(call(ControlKind.MEMSET, new ControlMessage())).isNotNull();
        }
    }

    /** Else work that other nodes do for this one would never end. */
    @SuppressWarnings("NullAway")
    @Test
    void allRequestsOfAConnectionEndWithItAlsoIfThereIsNoMemoryToSayWhy() {
        CountDownLatch end = new CountDownLatch(1);
        server.channel.serve(ControlKind.LOCK_TURN, (node, request, reply) -> await(end));
        connect();
        Peer peer = caller.links.awaitPeer(0, soon());
        List<CompletableFuture<byte[]>> both = List.of(
                caller.channel.begin(0, ControlKind.LOCK_TURN, new ControlMessage(), soon()),
                caller.channel.begin(0, ControlKind.LOCK_TURN, new ControlMessage(), soon()));
        Inside.set(caller.channel, "links", null);
        caller.channel.peerDisconnected(peer, "on purpose");
        Inside.set(caller.channel, "links", caller.links);
        assertThat(both).allMatch(CompletableFuture::isCompletedExceptionally);
        end.countDown();
    }

    /** It may release what others wait for, as a lock. */
    @Test
    void aRequestOfAnInterruptedThreadIsSentAndPausesWhileItsConnectionIsBusy() {
        AtomicInteger served = new AtomicInteger();
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> served.incrementAndGet());
        connect();
        Peer peer = caller.links.awaitPeer(0, soon());
        FabricEndpoint endpoint = peer.endpoint();
        int busyPosts = 100;
        AtomicInteger posts = new AtomicInteger();
        Object busy = Proxy.newProxyInstance(
                FabricEndpoint.class.getClassLoader(),
                new Class<?>[] {FabricEndpoint.class},
                (self, method, arguments) ->
                        method.getName().startsWith("writeImm") && posts.incrementAndGet() <= busyPosts
                                ? Post.BUSY
                                : method.invoke(endpoint, arguments));
        Inside.set(peer, "endpoint", busy);
        long beganNs = System.nanoTime();
        Thread.currentThread().interrupt();
        try {
            caller.channel.call(0, ControlKind.MEMSET, new ControlMessage(), soon());
        } catch (NodeUnreachableException e) { // the wait for the reply ends
            assertThat(e).hasMessageContaining("interrupted");
        }
        assertThat(Thread.interrupted()).as("the interrupt is kept").isTrue();
        // Most of the pauses have a millisecond.
        assertThat(System.nanoTime() - beganNs).isGreaterThan(busyPosts * 500_000L);
        Inside.set(peer, "endpoint", endpoint);
        Waits.until("it was sent", () -> served.get() == 1);
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <T extends Throwable> void doThrow(Throwable thrown) throws T {
        throw (T) thrown;
    }

    /** As after a host that lost power: the old connection is half open when the restarted node connects. */
    @Test
    void aCallUnderWayFailsWhenItsConnectionIsReplacedAndTheNextConnectionIsUsed() throws IOException {
        CountDownLatch arrived = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        caller.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {
            arrived.countDown();
            await(end);
        });
        List<CompletableFuture<?>> later = new CopyOnWriteArrayList<>();
        AtomicInteger connections = new AtomicInteger();
        server.links.addListener(new PeerListener() {
            @Override
            public void peerConnected(Peer peer) {
                if (connections.incrementAndGet() == 2) { // before the end of the first one is reported
                    later.add(server.channel.begin(1, ControlKind.MEMSET, new ControlMessage(), soon()));
                }
            }
        });
        connect();
        server.links.awaitPeer(1, soon());
        CompletableFuture<?> underWay = server.channel.begin(1, ControlKind.MEMSET, new ControlMessage(), soon());
        await(arrived);
        try (Node restarted = new Node(root.resolve("restarted"), 1, 77)) {
            restarted.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {});
            restarted.links.start();
            restarted.links.setLive(List.of(server.record(), restarted.record()));

            assertThatExceptionOfType(ExecutionException.class)
                    .isThrownBy(() -> underWay.get(soon().remainingNs(), TimeUnit.NANOSECONDS))
                    .withCauseInstanceOf(NodeUnreachableException.class);
            Waits.until("the call over the new connection has begun", () -> !later.isEmpty());
            assertThat(later.getFirst()).succeedsWithin(Waits.seconds(10));
        } finally {
            end.countDown();
        }
    }

    /** A fabric may send what was posted later; so the buffer must keep it. */
    @Test
    void aLateAnswerToAFormerConnectionDoesNotTouchTheReplyOfTheNextOne() throws InterruptedException {
        CountDownLatch arrived = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        AtomicInteger requests = new AtomicInteger();
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {
            if (requests.incrementAndGet() == 1) {
                arrived.countDown();
                await(end);
            }
        });
        connect();
        Peer first = caller.links.awaitPeer(0, soon());
        CompletableFuture<?> lost = caller.channel.begin(0, ControlKind.MEMSET, new ControlMessage(), soon());
        await(arrived);
        first.endpoint().close();
        Waits.until("both nodes have another connection", () -> {
            Peer atServer = server.links.peer(1);
            return caller.links.awaitPeer(0, soon()) != first && atServer != null && requests.get() == 1;
        });
        assertThat(lost).failsWithin(Waits.seconds(10)).withThrowableOfType(ExecutionException.class);
        assertThat(call(ControlKind.MEMSET, new ControlMessage())).isNotNull();
        long reply = server.arena.address() + server.arena.controlOffset() + NodeArena.CONTROL_BYTES;
        long sequence = reply + 3 * 4 * 2048 + 2 * 2048 + 8; // the first work slot of what it sends to the caller
        long second = RawMemory.getLong(sequence);
        assertThat(second).isPositive();

        end.countDown();
        server.executor.shutdown();
        assertThat(server.executor.awaitTermination(soon().remainingNs(), TimeUnit.NANOSECONDS))
                .isTrue();
        assertThat(RawMemory.getLong(sequence)).isEqualTo(second);
    }

    /** Without its answer, the slot of a request is in use until the connection ends. */
    @Test
    void anAnswerThatTheConnectionDoesNotTakeForLongIsSentWhenItDoes() throws IOException {
        CountDownLatch arrived = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        SimulatedNetwork network =
                new SimulatedNetwork(SimulatedOptions.seeded(1).withQueueDepth(2));
        try (Node answering = new Node(root.resolve("slow"), 0, 11, network.provider());
                Node asking = new Node(root.resolve("slow"), 1, 12, network.provider())) {
            answering.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {
                arrived.countDown();
                await(end);
            });
            asking.channel.serve(ControlKind.LOCK_TURN, (node, request, reply) -> {});
            for (Node node : List.of(answering, asking)) {
                node.links.start();
                node.links.setLive(List.of(answering.record(), asking.record()));
            }
            answering.links.awaitPeer(1, soon());
            CompletableFuture<?> asked = asking.channel.begin(0, ControlKind.MEMSET, new ControlMessage(), soon());
            await(arrived);
            network.pause("n1");
            List<CompletableFuture<?>> others = List.of( // as many as the connection takes
                    answering.channel.begin(1, ControlKind.LOCK_TURN, new ControlMessage(), soon()),
                    answering.channel.begin(1, ControlKind.LOCK_TURN, new ControlMessage(), soon()));
            end.countDown();

            Waits.pass(Duration.ofSeconds(6));
            network.resume("n1");

            assertThat(asked).succeedsWithin(Waits.seconds(10));
            for (CompletableFuture<?> other : others) {
                assertThat(other).succeedsWithin(Waits.seconds(10));
            }
        }
    }

    @Test
    void bulkWorkThatLastsLeavesASlotToOtherWork() {
        CountDownLatch arrived = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        server.channel.serve(ControlKind.COPY, (node, request, reply) -> {
            arrived.countDown();
            await(end);
        });
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> {});
        server.channel.serve(ControlKind.LOCK_QUEUE, (node, request, reply) -> reply.putInt(7));
        connect();
        CompletableFuture<?> first = caller.channel.begin(0, ControlKind.COPY, new ControlMessage(), soon());
        await(arrived);
        for (ControlKind bulk : List.of(ControlKind.COPY, ControlKind.MEMSET)) {
            assertThatExceptionOfType(LiteTimeoutException.class)
                    .isThrownBy(
                            () -> caller.channel.begin(0, bulk, new ControlMessage(), Deadline.in(Waits.seconds(0.1))))
                    .withMessageContaining("waiting for one of the 1 control slots to node n0");
            assertThat(call(ControlKind.LOCK_QUEUE, new ControlMessage()).getInt())
                    .isEqualTo(7);
        }
        end.countDown();
        assertThat(first).succeedsWithin(Waits.seconds(10));
        assertThat(call(ControlKind.MEMSET, new ControlMessage())).isNotNull();
    }

    private static Deadline soon() {
        return Deadline.in(Waits.seconds(10));
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(soon().remainingNs(), TimeUnit.NANOSECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    @Test
    void aMalformedLengthInsideARequestIsAnsweredWithTheValueAndTheLimit() {
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> request.getName("the principal"));
        connect();
        assertThatExceptionOfType(RpcFailedException.class)
                .isThrownBy(() -> call(ControlKind.MEMSET, new ControlMessage().putInt(-7)))
                .withMessageContaining("the principal in a control message has -7 bytes; the limit is 512");
    }

    @Test
    void aMessageLengthOutOfRangeIsRefusedAndNotTruncated() {
        server.channel.serve(ControlKind.MEMSET, (node, request, reply) -> reply.putInt(1));
        connect();
        assertThat(call(ControlKind.MEMSET, new ControlMessage()).getInt()).isOne();
        // Simulates a faulty node: overwrites the request in the first free work slot with an invalid length.
        long slot = 2L * 2048;
        long own = caller.arena.address() + caller.arena.controlOffset() + 2 * 4 * 2048 + slot;
        RawMemory.putInt(own, 1 << 20);
        RawMemory.putLong(own + 8, 99);
        var peer = caller.links.awaitPeer(0, Deadline.in(Waits.seconds(10)));
        long reply = caller.arena.address() + caller.arena.controlOffset() + 4 * 2048 + slot;
        peer.endpoint()
                .writeImm(
                        server.arena.controlOffset() + NodeArena.CONTROL_BYTES + slot,
                        own,
                        16,
                        ImmediateKind.CONTROL_REQUEST.with(2),
                        Poster.NOBODY);
        Waits.until("the request was refused", () -> RawMemory.getLong(reply + 8) == 99);
        assertThat(RawMemory.getInt(reply + 4)).isNotZero();
        int length = RawMemory.getInt(reply);
        byte[] text = RawMemory.all().asSlice(reply + 16, length).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
        assertThat(new String(text, java.nio.charset.StandardCharsets.UTF_8))
                .contains("1048576 bytes")
                .contains("2032");
    }
}
