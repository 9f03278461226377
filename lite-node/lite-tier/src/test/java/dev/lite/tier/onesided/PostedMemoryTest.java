package dev.lite.tier.onesided;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.cluster.NodeRecord;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.DeadlineSweeper;
import dev.lite.testing.Inside;
import dev.lite.testing.Undescribed;
import dev.lite.testing.Waits;
import dev.lite.tier.Access;
import dev.lite.tier.Operation;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Hello;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.InDevShm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The bounce buffers in arenas of several sizes, and what the memories over different lanes of the same connections share. */
class PostedMemoryTest {
    private static final long LMR = 7;

    @TempDir(factory = InDevShm.class)
    Path root;

    private void withArena(long bytes, BiConsumer<NodeArena, PeerLinks> test) throws IOException {
        withArena(0, new ShmFabricProvider(), bytes, test);
    }

    private void withArena(int id, FabricProvider fabric, long bytes, BiConsumer<NodeArena, PeerLinks> test)
            throws IOException {
        Path run = Files.createDirectories(root.resolve("run"));
        String name = "n" + id;
        NodeArena arena = NodeArena.open(new ArenaConfig(root, "c", name, bytes, 64, 4, ArenaConfig.Kept.AFTER_CRASH));
        Hello hello = new Hello("c", id, name, 1, arena.id(), arena.controlOffset(), arena.peersMax());
        PeerLinks links = new PeerLinks(
                hello,
                "host",
                List.of(fabric),
                new FabricConfig(name, hello.encode(), run, Map.of()),
                Map.of(),
                new FabricMemory(arena.segment(), arena.descriptor()),
                100);
        try {
            test.accept(arena, links);
        } finally {
            links.close();
            arena.close();
        }
    }

    @Test
    void threadsPollForTransfersOverAllLanes() throws IOException {
        withArena(ArenaConfig.BYTES_MIN, (arena, links) -> {
            PostedMemory whole = new PostedMemory(links, arena, new ArenaAllocator(arena, "n0"));
            assertThat(whole.onLanes(connection -> connection).polling()).isSameAs(whole.polling());
        });
    }

    @ParameterizedTest
    @CsvSource({"4, 32", "63, 32", "64, 64", "256, 64"})
    void moreThan32BounceBuffersTakeASixteenthOfTheArenaAtMost(long megabytes, int count) throws IOException {
        withArena(megabytes << 20, (arena, links) -> {
            ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
            assertThat(new PostedMemory(links, arena, allocator).buffers()).isEqualTo(count);
            assertThat(allocator.allocatedBytes()).isEqualTo((long) count * PostedMemory.BUFFER_BYTES);
        });
    }

    @Test
    void aFullArenaOfAProcessThatHadOnly32BuffersIsAdoptedWith32() throws IOException {
        withArena(64 << 20, (arena, links) -> {
            ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
            long free = 3 << 20;
            assertThat(allocator.allocate(LMR, allocator.dataBytes() - free, 1, 1))
                    .hasSize(1);
            assertThat(new PostedMemory(links, arena, allocator).buffers()).isEqualTo(32);
        });
    }

    /** Else each would keep its buffer for ever, and every free, move and revocation would wait for its end. */
    @Test
    void aPostThatTheDriverRefusesReturnsItsBuffer() throws IOException {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(seed()));
        withTwoNodes(network.provider(), (memory, far) -> {
            try (Arena local = Arena.ofConfined()) {
                MemorySegment bytes = local.allocate(2 * PostedMemory.BUFFER_BYTES);
                List<ThrowingCallable> refused = List.of(
                        () -> memory.read(1, far.id(), far.size(), bytes, 0, 8, soon()),
                        () -> memory.write(1, far.id(), far.size(), bytes, 0, 8, soon()),
                        () -> memory.read(1, far.id(), far.size(), bytes, 0, bytes.byteSize(), soon()),
                        () -> memory.fetchAdd(1, far.id(), 1, 1, soon()));
                for (int i = 0; i <= memory.buffers(); i++) {
                    assertThatException()
                            .isThrownBy(refused.get(i % refused.size()))
                            .isInstanceOfAny(IndexOutOfBoundsException.class, IllegalArgumentException.class);
                }
                assertThat(memory.awaitGivenUp(soon()))
                        .as("nothing is in flight")
                        .isTrue();
                memory.read(1, far.id(), 0, bytes, 0, 8, soon());
            }
        });
    }

    @Test
    void longTransfersUseWhatBuffersAreFreeAndMoveAllBytes() throws IOException {
        long seed = seed();
        Random random = new Random(seed);
        withTwoNodes(new SimulatedNetwork(SimulatedOptions.seeded(seed)).provider(), (memory, far) -> {
            BounceBuffers buffers = Inside.field(memory, "buffers", BounceBuffers.class);
            memory.fetchAdd(1, far.id(), word(far), 0, soon()); // connects
            for (int round = 0; round < 20; round++) {
                List<BounceBuffer> taken = new ArrayList<>();
                for (BounceBuffer buffer : buffers.all()) {
                    if (taken.size() < memory.buffers() - 1 && random.nextInt(20) < round && buffer.takeIfFree()) {
                        taken.add(buffer);
                    }
                }
                int length = random.nextInt(1, 25 * PostedMemory.BUFFER_BYTES);
                byte[] bytes = new byte[length];
                random.nextBytes(bytes);
                byte[] found = new byte[length];
                memory.write(1, far.id(), 8, MemorySegment.ofArray(bytes), 0, length, null, soon());
                memory.read(1, far.id(), 8, MemorySegment.ofArray(found), 0, length, soon());
                assertThat(Arrays.equals(found, bytes))
                        .as("seed %d, %d bytes beside %d taken buffers", seed, length, taken.size())
                        .isTrue();
                taken.forEach(buffers::release);
            }
            assertThat(memory.close(soon())).as("all buffers are free").isTrue();
        });
    }

    @Test
    void aLongTransferThatFailsReturnsAllItsBuffers() throws IOException {
        long seed = seed();
        SimulatedOptions breaks = SimulatedOptions.seeded(seed).withFaults(0.03, 0, Duration.ofNanos(1));
        withTwoNodes(new SimulatedNetwork(breaks).provider(), (memory, far) -> {
            MemorySegment bytes = MemorySegment.ofArray(new byte[40 * PostedMemory.BUFFER_BYTES]);
            int failed = 0;
            for (int step = 0; step < 40 || failed < 20; step++) {
                Deadline deadline = Deadline.in(Duration.ofNanos(step % 2 == 0 ? 50_000_000 : 200_000));
                try {
                    if (step % 4 < 2) {
                        memory.write(1, far.id(), 8, bytes, 0, bytes.byteSize(), null, deadline);
                    } else {
                        memory.read(1, far.id(), 8, bytes, 0, bytes.byteSize(), deadline);
                    }
                } catch (LiteException e) {
                    failed++;
                }
            }
            assertThat(memory.awaitGivenUp(soon())).as("seed %d", seed).isTrue();
            assertThat(memory.close(soon()))
                    .as("seed %d: all buffers are free", seed)
                    .isTrue();
        });
    }

    /** Else the end of a session, which interrupts its operations, leaves threads that poll without a pause until their deadlines. */
    @Test
    void anInterruptEndsAnOperationWhoseConnectionIsBusy() throws IOException {
        AtomicBoolean going = new AtomicBoolean(true);
        withTwoSteppedNodes(going, (memory, far) -> {
            memory.fetchAdd(1, far.id(), word(far), 0, soon()); // connects
            going.set(false);
            CompletableFuture<Long> first = new CompletableFuture<>();
            assertThat(tryAtomic(memory, far, Operation.FETCH_ADD, 1, 0, first)).isTrue();
            AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
            Thread second = Thread.ofPlatform()
                    .start(() -> failure.set(catchThrowable(
                            () -> memory.fetchAdd(1, far.id(), word(far), 1, Deadline.in(Waits.seconds(5))))));
            Waits.until("it waits", () -> second.getState() == Thread.State.TIMED_WAITING);
            second.interrupt();
            Waits.join(second);
            going.set(true);
            Waits.until("the first one has ended", first::isDone);
            assertThat(failure.get())
                    .isInstanceOf(LmrUnavailableException.class)
                    .hasMessageContaining("interrupted");
        });
    }

    /** Nodes whose connection takes one post at a time. Nothing moves while it is not going. */
    private void withTwoSteppedNodes(AtomicBoolean going, BiConsumer<PostedMemory, NodeArena> test) throws IOException {
        SimulatedNetwork network = new SimulatedNetwork(
                SimulatedOptions.seeded(seed()).withQueueDepth(1).withSteps());
        AtomicBoolean over = new AtomicBoolean();
        Thread clock = Thread.ofPlatform().start(() -> {
            while (!over.get()) {
                if (!going.get() || !network.step()) {
                    Waits.pass(Duration.ofNanos(50_000));
                }
            }
        });
        try {
            withTwoNodes(network.provider(), test);
        } finally {
            going.set(true);
            over.set(true);
            Waits.join(clock);
        }
    }

    /** Else its caller learns of its end twice: by the exception, and when the post completes. */
    @Test
    void anAsynchronousTransferWithoutATimerIsNotPosted() throws IOException {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(seed()));
        withTwoNodes(network.provider(), (memory, far) -> {
            try (Arena local = Arena.ofShared()) {
                MemorySegment bytes = local.allocate(8);
                AtomicInteger ends = new AtomicInteger();
                memory.read(1, far.id(), 0, bytes, 0, 8, soon()); // connects
                Map<String, Map<Kind, Count>> before = memory.transfers();
                Runnable timersWork = breakTimers(memory);
                for (int i = 0; i <= memory.buffers(); i++) {
                    assertThatThrownBy(() -> memory.tryStart(
                                    1,
                                    far.id(),
                                    Access.read(0, bytes),
                                    soon(),
                                    false,
                                    failure -> ends.incrementAndGet()))
                            .isInstanceOf(ClassCastException.class);
                }
                timersWork.run();
                Map<String, Map<Kind, Count>> after = memory.transfers();

                memory.read(1, far.id(), 0, bytes, 0, 8, soon()); // after it, all earlier posts have completed
                assertThat(ends).hasValue(0);
                assertThat(after).isEqualTo(before);
            }
        });
    }

    private interface Broken {
        /** Takes away what describes the failure of a transfer. Returns what gives it back. */
        Runnable make(PendingAccesses pending);
    }

    private void asynchronousTransfer(Operation operation, Broken broken) throws IOException {
        AtomicBoolean going = new AtomicBoolean(true);
        withTwoSteppedNodes(going, (memory, far) -> {
            memory.fetchAdd(1, far.id(), word(far), 0, soon()); // connects
            going.set(false);
            Access access =
                    new Access(operation, word(far), 0, 0, Arena.ofAuto().allocate(8, 8));
            CompletableFuture<@Nullable RuntimeException> ended = new CompletableFuture<>();
            Deadline late = Deadline.in(Waits.seconds(60));
            assertThat(memory.tryStart(1, far.id(), access, late, false, ended::complete))
                    .isTrue();
            Runnable repair = broken.make(Inside.field(memory, "pending", PendingAccesses.class));
            Peer peer = Inside.field(memory, "links", PeerLinks.class).peer(1);
            Objects.requireNonNull(peer).endpoint().close();
            going.set(true);
            assertThat(ended).succeedsWithin(Waits.seconds(10)).isNotNull().isNotInstanceOf(LiteException.class);
            repair.run();
        });
    }

    /** Else its caller would wait for ever. */
    @SuppressWarnings("NullAway")
    @Test
    void anAsynchronousTransferWhoseConnectionBreaksEndsAlsoIfThereIsNoMemoryToSayWhy() throws IOException {
        asynchronousTransfer(Operation.FETCH_ADD, pending -> {
            Posts posts = Inside.field(pending, "posts", Posts.class);
            PeerLinks links = Inside.field(posts, "links", PeerLinks.class);
            Inside.set(posts, "links", null);
            return () -> Inside.set(posts, "links", links);
        });
    }

    /** Likewise. */
    @Test
    void anAsynchronousTransferThatIsRepeatedEndsAlsoIfThereIsNoMemoryToSayWhyItFailed() throws IOException {
        asynchronousTransfer(Operation.READ, pending -> {
            PendingAccesses.Repeat failing = (former, arena, access, deadline) -> {
                throw new Undescribed();
            };
            PendingAccesses.Repeat usual = Inside.field(pending, "repeat", PendingAccesses.Repeat.class);
            Inside.set(pending, "repeat", failing);
            return () -> Inside.set(pending, "repeat", usual);
        });
    }

    /** Likewise. */
    @SuppressWarnings("NullAway")
    @Test
    void anAsynchronousTransferEndsAfterItsDeadlineAsSoonAsThereIsMemoryToSaySo() throws IOException {
        AtomicBoolean going = new AtomicBoolean(true);
        withTwoSteppedNodes(going, (memory, far) -> {
            memory.fetchAdd(1, far.id(), word(far), 0, soon()); // connects
            going.set(false);
            Deadline deadline = Deadline.in(Waits.seconds(0.5));
            CompletableFuture<@Nullable RuntimeException> ended = new CompletableFuture<>();
            Access access = new Access(
                    Operation.FETCH_ADD, word(far), 0, 0, Arena.ofAuto().allocate(8, 8));
            assertThat(memory.tryStart(1, far.id(), access, deadline, false, ended::complete))
                    .isTrue();
            PendingAccess found = null;
            for (BounceBuffer buffer :
                    Inside.field(memory, "buffers", BounceBuffers.class).all()) {
                PendingAccess its = buffer.pending;
                found = its == null ? found : its;
            }
            PendingAccess one = Objects.requireNonNull(found);
            Peer peer = one.peer;
            Inside.set(one, "peer", null);
            DeadlineSweeper sweeper = Inside.field(
                    Inside.field(memory, "pending", PendingAccesses.class), "sweeper", DeadlineSweeper.class);
            Waits.until(
                    "a sweep has failed, and another one follows",
                    () -> Inside.field(sweeper, "firstNs", Long.class) - deadline.endNs() > 0);
            Inside.set(one, "peer", peer);
            assertThat(ended).succeedsWithin(Waits.seconds(10)).isInstanceOf(LiteTimeoutException.class);
        });
    }

    @Test
    void anAsynchronousAtomicOperationGivesTheFormerValue() throws IOException {
        withTwoNodes(new SimulatedNetwork(SimulatedOptions.seeded(seed())).provider(), (memory, far) -> {
            assertThat(memory.fetchAdd(1, far.id(), word(far), 5, soon())).isZero(); // connects
            assertThat(atomic(memory, far, Operation.FETCH_ADD, 2, 0)).isEqualTo(5);
            assertThat(atomic(memory, far, Operation.COMPARE_AND_SWAP, 7, 11)).isEqualTo(7);
            assertThat(atomic(memory, far, Operation.COMPARE_AND_SWAP, 7, 13)).isEqualTo(11);
            assertThat(atomic(memory, far, Operation.FETCH_ADD, 0, 0)).isEqualTo(11);
        });
    }

    /** Starts an asynchronous one, and waits for it. */
    private static long atomic(PostedMemory memory, NodeArena far, Operation operation, long first, long second) {
        CompletableFuture<Long> result = new CompletableFuture<>();
        assertThat(tryAtomic(memory, far, operation, first, second, result)).isTrue();
        return result.orTimeout(Waits.seconds(10).toNanos(), TimeUnit.NANOSECONDS)
                .join();
    }

    private static boolean tryAtomic(
            PostedMemory memory,
            NodeArena far,
            Operation operation,
            long first,
            long second,
            CompletableFuture<Long> result) {
        MemorySegment before = Arena.ofAuto().allocate(8, 8);
        Access access = new Access(operation, word(far), first, second, before);
        return memory.tryStart(1, far.id(), access, soon(), false, failure -> {
            if (failure == null) {
                result.complete(before.get(ValueLayout.JAVA_LONG, 0));
            } else {
                result.completeExceptionally(failure);
            }
        });
    }

    @Test
    void asynchronousAtomicOperationsOnConnectionsThatBreakAreExecutedOnceAtMost() throws IOException {
        long seed = seed();
        SimulatedOptions breaks = SimulatedOptions.seeded(seed).withFaults(0.06, 0, Duration.ofNanos(1));
        withTwoNodes(new SimulatedNetwork(breaks).provider(), (memory, far) -> {
            List<CompletableFuture<Long>> adds = new ArrayList<>();
            AtomicInteger broken = new AtomicInteger();
            for (int step = 0; step < 100 || broken.get() < 3; step++) {
                CompletableFuture<Long> add = new CompletableFuture<>();
                CompletableFuture<?> unused = add.exceptionally(failure -> (long) broken.incrementAndGet());
                if (tryAtomic(memory, far, Operation.FETCH_ADD, 1, 0, add)) {
                    adds.add(add);
                } else { // no connection, or no buffer
                    Waits.until("another can start", () -> !memory.mayWait(1));
                }
            }
            CompletableFuture<?> all = CompletableFuture.allOf(adds.toArray(CompletableFuture[]::new));
            Waits.until("all have ended", all::isDone);
            List<Long> before = adds.stream()
                    .filter(add -> !add.isCompletedExceptionally())
                    .map(CompletableFuture::join)
                    .toList();
            AtomicLong sum = new AtomicLong(-1);
            Waits.until("the sum can be read", () -> sum.updateAndGet(former -> read(memory, far)) >= 0);
            assertThat(before).as("seed %d: former values", seed).doesNotHaveDuplicates();
            assertThat(sum.get()).as("seed %d", seed).isBetween((long) before.size(), (long) adds.size());
        });
    }

    /** Returns the word, or -1 if its connection broke. */
    private static long read(PostedMemory memory, NodeArena far) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment word = local.allocate(8, 8);
            memory.read(1, far.id(), word(far), word, 0, 8, soon());
            return word.get(ValueLayout.JAVA_LONG, 0);
        } catch (LmrUnavailableException e) {
            return -1;
        }
    }

    /** The offset of a word that nothing else uses. */
    private static long word(NodeArena arena) {
        return arena.size() - Long.BYTES;
    }

    private static long seed() {
        return Long.getLong("lite.test.seed", System.nanoTime());
    }

    /** No sweep can be scheduled from now on, as without memory for a timer. Returns what ends that. */
    @SuppressWarnings("unchecked")
    private static Runnable breakTimers(PostedMemory memory) {
        PendingAccesses pending = Inside.field(memory, "pending", PendingAccesses.class);
        DeadlineSweeper sweeper = Inside.field(pending, "sweeper", DeadlineSweeper.class);
        PriorityQueue<Object> scheduled = Inside.field(sweeper, "scheduled", PriorityQueue.class);
        Object noTime = new Object(); // cannot be compared with a time
        scheduled.add(noTime);
        return () -> assertThat(scheduled.remove(noTime)).isTrue();
    }

    private static Deadline soon() {
        return Deadline.in(Waits.seconds(2));
    }

    private void withTwoNodes(FabricProvider fabric, BiConsumer<PostedMemory, NodeArena> test) throws IOException {
        withArena(0, fabric, ArenaConfig.BYTES_MIN, (arena, links) -> {
            PostedMemory memory = new PostedMemory(links, arena, new ArenaAllocator(arena, "n0"));
            try {
                withArena(1, fabric, ArenaConfig.BYTES_MIN, (far, farLinks) -> {
                    List<NodeRecord> live = List.of(record(0, links), record(1, farLinks));
                    for (PeerLinks each : List.of(links, farLinks)) {
                        each.start();
                        each.setLive(live);
                    }
                    test.accept(memory, far);
                });
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    private static NodeRecord record(int id, PeerLinks links) {
        return new NodeRecord("n" + id, id, 1, "host", ArenaConfig.BYTES_MIN, links.addresses(), 1);
    }
}
