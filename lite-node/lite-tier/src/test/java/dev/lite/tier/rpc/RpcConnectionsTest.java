package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.TestPeers;
import java.lang.foreign.Arena;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rings and bindings while connections end and are replaced, each step in a fixed order. */
class RpcConnectionsTest {
    private static final int NODE = 3;
    private static final int OTHER_NODE = 2;
    private static final long BYTES = 8 << 20;
    /** With room for this many large rings. */
    private static final int LARGE_MAX = 8;

    private static final long ARENA_BYTES = (long) LARGE_MAX * RpcRings.LARGE_PART * RpcWire.LARGE_RING_BYTES;

    private final Set<Peer> connected = ConcurrentHashMap.newKeySet();
    private final AtomicInteger asked = new AtomicInteger();
    private final AtomicLong used = new AtomicLong();
    private Arena memory;
    private long address;
    private RpcRings rings;
    private RpcBindings bindings;
    private boolean knowsLargeRings = true;
    /** Where the server's node says that the ring is. */
    private long ringOffset;
    /** What the server's node does when it is asked for a ring. */
    private final Deque<Runnable> server = new ArrayDeque<>();

    @BeforeEach
    void open() {
        memory = Arena.ofShared();
        address = memory.allocate(BYTES, RpcWire.UNIT_BYTES).address();
        LongUnaryOperator room = used::getAndAdd;
        RpcSlots slots = new RpcSlots(address, room);
        rings = new RpcRings(address, ARENA_BYTES, NODE + 1, room, slots, Runnable::run, connected::contains);
        bindings = new RpcBindings(address, room, slots, this::ask, connected::contains);
    }

    @AfterEach
    void close() {
        memory.close();
    }

    private RpcBindings.Ring ask(
            Peer peer,
            String function,
            String principal,
            long headOffset,
            int generation,
            int bytes,
            Deadline deadline) {
        int number = asked.incrementAndGet();
        Runnable step = server.poll();
        if (step != null) {
            step.run();
        }
        return new RpcBindings.Ring(number, ringOffset, knowsLargeRings ? bytes : RpcWire.RING_BYTES);
    }

    private static void awaitLatch(CountDownLatch latch) {
        Waits.until("the other thread is there", () -> latch.getCount() == 0);
    }

    private Peer connect() {
        return connect(NODE);
    }

    private Peer connect(int node) {
        Peer peer = TestPeers.connect(node, new MemoryEndpoint(address, BYTES));
        connected.add(peer);
        return peer;
    }

    /** The links forget the connection first, and then tell rings and bindings. */
    private int disconnect(Peer peer) {
        connected.remove(peer);
        bindings.remove(peer);
        return rings.remove(peer).size();
    }

    private RpcRing make(Peer peer) {
        return make(peer, "app", RpcWire.RING_BYTES);
    }

    @SuppressWarnings("NullAway") // nobody calls the function
    private RpcRing make(Peer peer, String principal, int bytes) {
        return rings.make(peer, new RpcFunction("f", null), principal, bytes, 0, 1);
    }

    private void enlarge(RpcBinding binding) {
        bindings.enlarge(
                binding, "f", "app", System.nanoTime() + Waits.seconds(15).toNanos());
    }

    @Test
    @SuppressWarnings("NullAway") // nobody calls the function
    void onePrincipalBindsAtMostHalfOfTheFunctionsOfAConnection() {
        int half = RpcWire.RINGS_MAX / 2;
        try (Arena large = Arena.ofShared()) {
            long bytes = (half + 8L) * (RpcRing.PREFIX_BYTES + RpcWire.RING_BYTES);
            long start = large.allocate(bytes, RpcWire.UNIT_BYTES).address();
            LongUnaryOperator room = new AtomicLong()::getAndAdd;
            RpcRings many = new RpcRings(
                    start, bytes, NODE + 1, room, new RpcSlots(start, room), Runnable::run, connected::contains);
            Peer peer = TestPeers.connect(NODE, new MemoryEndpoint(start, bytes));
            connected.add(peer);
            RpcFunction function = new RpcFunction("f", null);
            for (int ring = 0; ring < half; ring++) {
                many.make(peer, function, "greedy", RpcWire.RING_BYTES, 0, 1);
            }
            assertThatThrownBy(() -> many.make(peer, function, "greedy", RpcWire.RING_BYTES, 0, 1))
                    .isInstanceOf(LimitExceededException.class)
                    .hasMessageContaining("%d of them as \"greedy\"".formatted(half));
            assertThat(many.make(peer, function, "good", RpcWire.RING_BYTES, 0, 1).id)
                    .isEqualTo(half);
        }
    }

    private RpcBinding bind(Peer peer, String function) {
        return bindings.get(
                peer, function, "app", System.nanoTime() + Waits.seconds(15).toNanos());
    }

    @Test
    void aRingOfAConnectionThatHasEndedIsRefusedAndLeavesNothing() {
        Peer lost = connect();
        assertThat(disconnect(lost)).isZero();
        assertThatThrownBy(() -> make(lost)).isInstanceOf(NodeUnreachableException.class);

        Peer next = connect();
        RpcRing ring = make(next);
        assertThat(rings.get(next, ring.id)).isSameAs(ring);
        assertThat(disconnect(next)).as("rings removed with their connection").isEqualTo(1);
    }

    /** Its calls could not be posted, and the function could not be called until the connection ends. */
    @ParameterizedTest
    @ValueSource(longs = {-RpcWire.UNIT_BYTES, BYTES - RpcWire.RING_BYTES + RpcWire.UNIT_BYTES, Long.MAX_VALUE})
    void aRingThatDoesNotLieInTheServersArenaIsNotUsedAndTheNextOneIs(long outside) {
        Peer peer = connect();
        ringOffset = outside;
        assertThatThrownBy(() -> bind(peer, "f"))
                .isInstanceOf(RpcFailedException.class)
                .hasMessageContaining("a ring at %d", outside);
        ringOffset = BYTES - RpcWire.RING_BYTES;
        assertThat(bind(peer, "f").ringOffset).isEqualTo(ringOffset);
    }

    /** The server's thread could not report the head of the ring. */
    @ParameterizedTest
    @ValueSource(longs = {-Long.BYTES, BYTES, 4, Long.MAX_VALUE - 7})
    @SuppressWarnings("NullAway") // nobody calls the function
    void aRingWhoseHeadDoesNotLieInTheCallersArenaIsNotMade(long outside) {
        Peer peer = connect();
        RpcFunction function = new RpcFunction("f", null);
        assertThatThrownBy(() -> rings.make(peer, function, "app", RpcWire.RING_BYTES, outside, 1))
                .isInstanceOf(RpcFailedException.class)
                .hasMessageContaining("the head of a ring at %d", outside);
        assertThat(rings.bytes()).isZero();
    }

    @Test
    void ringsOfAReplacedConnectionGoWithItAndNotWithItsSuccessor() {
        Peer former = connect();
        make(former);
        connected.remove(former); // replaced; the listeners get its end later
        Peer next = connect();
        RpcRing ring = make(next);

        assertThat(disconnect(former)).isEqualTo(1);
        assertThat(rings.get(next, ring.id)).isSameAs(ring);
        assertThat(disconnect(next)).isEqualTo(1);
    }

    /** The caller of a binding whose answer came too late asks again, and nobody uses the ring that it was given. */
    @Test
    @SuppressWarnings("NullAway") // nobody calls the function
    void aFunctionWhoseBindingTimesOutAgainAndAgainTakesOneRing() {
        Peer peer = connect();
        RpcFunction function = new RpcFunction("f", null);
        for (int generation = 1; generation <= 1_000; generation++) {
            RpcRing ring = rings.make(peer, function, "app", RpcWire.RING_BYTES, 0, generation);
            assertThat(rings.get(peer, ring.id)).isSameAs(ring);
        }
        assertThat(rings.bytes()).isEqualTo(RpcRing.PREFIX_BYTES + RpcWire.RING_BYTES);
        assertThat(function.rings).isEqualTo(1);

        RpcRing late = rings.make(peer, function, "app", RpcWire.RING_BYTES, 0, 5);
        assertThat(late.id).as("an earlier request that is handled late").isEqualTo(1);
        rings.make(peer, function, "other", RpcWire.RING_BYTES, 0, 1_001);
        rings.make(peer, function, "app", RpcWire.LARGE_RING_BYTES, 0, 1_002);
        assertThat(disconnect(peer)).isEqualTo(4);
    }

    @Test
    void aThousandConnectionsUseTheMemoryOfOne() {
        for (int i = 0; i < 1_000; i++) {
            Peer peer = connect();
            make(peer);
            bind(peer, "f");
            connected.remove(peer);
            Peer next = connect(); // before the listeners get the end of the former one
            make(next);
            bind(next, "f");
            disconnect(peer);
            disconnect(next);
        }
        assertThat(rings.bytes()).isEqualTo(2L * (RpcRing.PREFIX_BYTES + RpcWire.RING_BYTES));
        assertThat(bindings.bytes()).isEqualTo(64L * RpcWire.UNIT_BYTES);
    }

    @Test
    void aCallerThatWaitedForAnothersFailedBindingMakesOneForAll() {
        Peer peer = connect();
        CountDownLatch firstAsks = new CountDownLatch(1);
        CountDownLatch secondWaits = new CountDownLatch(1);
        server.add(() -> {
            firstAsks.countDown();
            awaitLatch(secondWaits);
            throw new RpcFailedException(RpcStatus.NOT_SERVED, "not served yet");
        });
        CompletableFuture<RpcBinding> first =
                CompletableFuture.supplyAsync(() -> bind(peer, "f"), Thread::startVirtualThread);
        awaitLatch(firstAsks);
        Thread[] waiting = new Thread[1];
        CompletableFuture<RpcBinding> second = CompletableFuture.supplyAsync(() -> bind(peer, "f"), task -> {
            waiting[0] = Thread.ofPlatform().start(task);
        });
        Waits.until("the second caller waits", () -> waiting[0].getState() == Thread.State.TIMED_WAITING);
        secondWaits.countDown();
        assertThatThrownBy(first::join).cause().isInstanceOf(RpcFailedException.class);

        assertThat(bind(peer, "f")).as("the third caller's binding").isSameAs(second.join());
        assertThat(asked).as("rings asked for").hasValue(2);
    }

    @Test
    void aBindingWhoseConnectionEndsMeanwhileIsRefusedAndLeavesNothing() {
        for (int i = 0; i < 200; i++) {
            Peer peer = connect();
            server.add(() -> disconnect(peer));
            assertThatThrownBy(() -> bind(peer, "f")).isInstanceOf(NodeUnreachableException.class);
        }
        assertThat(bindings.bytes()).isEqualTo(64L * RpcWire.UNIT_BYTES);
        assertThat(bindings.count()).isZero();
    }

    @Test
    void aBindingWithALargeRingReplacesTheSmallOneAndKeepsItsSlots() {
        Peer peer = connect();
        RpcBinding small = bind(peer, "f");
        enlarge(small);
        RpcBinding large = bind(peer, "f");
        assertThat(large).isNotSameAs(small).isSameAs(small.larger());
        assertThat(large.slots).isSameAs(small.slots);
        assertThat(large.tryReserve(2 * RpcWire.RING_BYTES))
                .as("a reservation that is longer than the small ring")
                .isNotNegative();

        enlarge(small);
        assertThat(asked).as("rings asked for").hasValue(2);
        disconnect(peer);
        assertThatThrownBy(() -> small.slots.take(8, System.nanoTime())).isInstanceOf(NodeUnreachableException.class);
    }

    @Test
    void aCrowdedBindingAsksForALargeRingOnce() {
        Peer peer = connect();
        RpcBinding small = bind(peer, "f");
        assertThat(IntStream.range(0, 100).filter(i -> small.isCrowded()).count())
                .isEqualTo(1);
        enlarge(small);
        RpcBinding large = bind(peer, "f");
        assertThat(IntStream.range(0, 100).filter(i -> large.isCrowded()).count())
                .isZero();
    }

    @Test
    void aRefusedBindingAsksAgainAfterManyMoreCalls() {
        RpcBinding small = bind(connect(), "f");
        small.askAgainLater();
        assertThat(IntStream.range(0, 9_000).anyMatch(i -> small.isCrowded())).isFalse();
        assertThat(IntStream.range(0, 9_000).filter(i -> small.isCrowded()).count())
                .isEqualTo(1);
    }

    @Test
    void oneNodeHasAtMostHalfOfTheLargeRingsWhoeverItSaysThatItsPrincipalsAre() {
        Peer greedy = connect();
        for (int ring = 0; ring < LARGE_MAX / 2; ring++) {
            make(greedy, "principal " + ring % 2, RpcWire.LARGE_RING_BYTES);
        }
        assertThatThrownBy(() -> make(greedy, "another", RpcWire.LARGE_RING_BYTES))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("%d of %d".formatted(LARGE_MAX / 2, LARGE_MAX / 2));
        make(connect(OTHER_NODE), "another", RpcWire.LARGE_RING_BYTES);
        disconnect(greedy);
        make(connect(), "another", RpcWire.LARGE_RING_BYTES);
    }

    @Test
    void aNodeThatKnowsOneSizeOfRingsLeavesTheBindingAsItIs() {
        knowsLargeRings = false;
        Peer peer = connect();
        RpcBinding small = bind(peer, "f");
        assertThatThrownBy(() -> enlarge(small))
                .isInstanceOf(RpcFailedException.class)
                .hasMessageContaining(String.valueOf(RpcWire.RING_BYTES));
        assertThat(bind(peer, "f")).isSameAs(small);
        assertThat(small.larger()).isNull();
    }

    @Test
    void aLargeRingWhoseConnectionEndsMeanwhileIsNotUsed() {
        Peer peer = connect();
        RpcBinding small = bind(peer, "f");
        server.add(() -> disconnect(peer));
        enlarge(small);
        assertThat(small.larger()).isNull();
        assertThat(bindings.count()).isZero();
        assertThat(bind(connect(), "f")).isNotSameAs(small);
    }

    @Test
    void onePrincipalHasAtMostHalfOfTheLargeRingsOfANodeOverAllItsConnections() {
        List<Peer> peers = List.of(connect(), connect(OTHER_NODE));
        for (int ring = 0; ring < LARGE_MAX / 2; ring++) {
            make(peers.get(ring % 2), "greedy", RpcWire.LARGE_RING_BYTES);
        }
        for (Peer peer : peers) {
            assertThatThrownBy(() -> make(peer, "greedy", RpcWire.LARGE_RING_BYTES))
                    .isInstanceOf(LimitExceededException.class)
                    .hasMessageContaining("\"greedy\" has %d of %d".formatted(LARGE_MAX / 2, LARGE_MAX / 2));
        }
        make(peers.getFirst(), "greedy", RpcWire.RING_BYTES);
        make(peers.getFirst(), "good", RpcWire.LARGE_RING_BYTES);
    }

    @Test
    void aHundredConnectionsWithLargeRingsUseTheMemoryOfOne() {
        for (int i = 0; i < 100; i++) {
            Peer peer = connect();
            make(peer, "app", RpcWire.LARGE_RING_BYTES);
            make(peer, "app", RpcWire.RING_BYTES);
            disconnect(peer);
        }
        assertThat(rings.bytes()).isEqualTo(2L * RpcRing.PREFIX_BYTES + RpcWire.RING_BYTES + RpcWire.LARGE_RING_BYTES);
    }

    @Test
    @SuppressWarnings("NullAway") // nobody calls the function
    void memoryForLargeRingsIsNeverMoreThanTheLimitWhicheverNodesComeAndGo() {
        RpcRings ofManyNodes = new RpcRings(
                address,
                ARENA_BYTES,
                2 * LARGE_MAX,
                used::getAndAdd,
                new RpcSlots(address, used::getAndAdd),
                Runnable::run,
                connected::contains);
        for (int node = 0; node < 2 * LARGE_MAX; node++) {
            Peer peer = TestPeers.connect(node, new MemoryEndpoint(address, BYTES));
            connected.add(peer);
            try {
                ofManyNodes.make(peer, new RpcFunction("f", null), "app", RpcWire.LARGE_RING_BYTES, 0, 1);
            } catch (LimitExceededException e) {
                assertThat(node).as("nodes that had a large ring").isEqualTo(LARGE_MAX);
                return;
            }
            connected.remove(peer);
            ofManyNodes.remove(peer);
        }
        throw new AssertionError("%d nodes had a large ring".formatted(2 * LARGE_MAX));
    }
}
