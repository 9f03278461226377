package dev.lite.tier.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.lite.api.Extent;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSlice;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.session.async.AsyncOperations;
import dev.lite.testing.Waits;
import dev.lite.tier.Access;
import dev.lite.tier.Admission;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.RemoteWork;
import dev.lite.tier.TierHandle;
import dev.lite.tier.testing.Seeds;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.IntToLongFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class MappingTest {
    private static final UUID ARENA = new UUID(1, 2);
    private static final int ALL = Permission.toBits(EnumSet.allOf(Permission.class));

    private static final long FOR_LONG_NS = Waits.seconds(60).toNanos();

    private final Arena arena = Arena.ofShared();
    private final FakeOwner owner = new FakeOwner();

    @AfterEach
    void close() {
        arena.close();
    }

    private static final class FakeOwner implements HandleOwner {
        final AtomicInteger unmapped = new AtomicInteger();
        final AtomicInteger locksLost = new AtomicInteger();
        private @Nullable Admission admission;
        private @Nullable RemoteMemory ofPriority;
        private Duration deadline = Waits.seconds(5);
        private Consumer<Deadline> refresh = nothing -> {};
        private final List<Deadline> frees = new ArrayList<>();

        @Override
        public @Nullable Admission admission(boolean low) {
            return admission;
        }

        @Override
        public RemoteMemory remoteMemory(boolean low) {
            return ofPriority == null ? remoteMemory() : ofPriority;
        }

        @Override
        public int locksLost() {
            return locksLost.get();
        }

        @Override
        public String principal() {
            return "app";
        }

        @Override
        public RemoteWork remoteWork() {
            throw new AssertionError("everything is mapped in this test");
        }

        @Override
        public AsyncOperations async() {
            throw new AssertionError("everything is mapped in this test");
        }

        @Override
        public void grant(Mapping mapping, String principal, Set<Permission> permissions, Deadline deadline) {
            throw new AssertionError("no grants in this test");
        }

        @Override
        public void moveTo(Mapping mapping, String node, Deadline deadline) {
            throw new AssertionError("no moves in this test");
        }

        @Override
        public void refresh(@Nullable String name, long lmrId, Deadline deadline) {
            refresh.accept(deadline);
        }

        @Override
        public RemoteMemory remoteMemory() {
            throw new AssertionError("everything is mapped in this test");
        }

        @Override
        public Duration deadline() {
            return deadline;
        }

        @Override
        public String nodeName(int node) {
            return "n" + node;
        }

        @Override
        public void unmapped(Mapping mapping) {
            unmapped.incrementAndGet();
        }

        @Override
        public void free(Mapping mapping, Deadline deadline) {
            frees.add(deadline);
            mapping.end(new LmrFreedException("the LMR was freed by a master"));
        }
    }

    private Mapping oneExtent(long bytes, int granted) {
        return oneExtent(bytes, granted, "counts");
    }

    private Mapping oneExtent(long bytes, int granted, @Nullable String name) {
        MemorySegment memory = arena.allocate(Math.ceilDiv(bytes, 64L) * 64, 64);
        return mapping(
                bytes,
                62,
                List.of(new Share(0, ARENA, List.of(new Run(0, memory.byteSize(), 0)))),
                node -> memory.address(),
                granted,
                name);
    }

    /** Chunks of 4 KiB dealt to three nodes, each with its own memory in two runs with a gap. */
    private Mapping chunked(long bytes) {
        long chunk = 4096;
        int chunks = Math.toIntExact(Math.ceilDiv(bytes, chunk));
        MemorySegment memory = arena.allocate(3L * (chunks + 8) * chunk, 4096);
        List<Share> shares = new ArrayList<>();
        for (int share = 0; share < 3; share++) {
            int count = (chunks - share + 2) / 3;
            int first = (count + 1) / 2;
            List<Run> runs = new ArrayList<>(List.of(new Run(4096, first * chunk, 0)));
            if (count > first) {
                runs.add(new Run(3 * 4096 + first * chunk, (count - first) * chunk, 1));
            }
            shares.add(new Share(share, ARENA, runs));
        }
        long perNode = (chunks + 8L) * chunk;
        return mapping(bytes, 12, shares, node -> memory.address() + node * perNode, ALL, "chunked");
    }

    private Mapping mapping(
            long bytes, int shift, List<Share> shares, IntToLongFunction bases, int granted, @Nullable String name) {
        LmrRecord lmr = new LmrRecord(77, LmrRecord.State.LIVE, bytes, shift, 0, Map.of(), shares);
        return Mapping.open(new BlankMappings(), lmr, name, granted, Layout.places(lmr, bases), owner);
    }

    @Test
    void bytesWrittenAnywhereAreReadBackToNativeAndHeapMemory() {
        Seeds.forEach(20, random -> {
            int bytes = 1 + random.nextInt(100_000);
            Mapping mapping = random.nextBoolean() ? oneExtent(bytes, ALL) : chunked(bytes);
            byte[] model = new byte[bytes];
            for (int step = 0; step < 200; step++) {
                int offset = random.nextInt(bytes + 1);
                int length = random.nextInt(bytes - offset + 1);
                byte[] data = new byte[length];
                if (random.nextBoolean()) {
                    random.nextBytes(data);
                    System.arraycopy(data, 0, model, offset, length);
                    if (random.nextBoolean()) {
                        mapping.write(offset, data);
                    } else {
                        try (Arena own = Arena.ofConfined()) {
                            mapping.write(
                                    offset, own.allocate(length + 1L).asSlice(1).copyFrom(MemorySegment.ofArray(data)));
                        }
                    }
                } else if (random.nextBoolean()) {
                    mapping.read(offset, data);
                    assertThat(Arrays.mismatch(data, Arrays.copyOfRange(model, offset, offset + length)))
                            .isEqualTo(-1);
                } else {
                    try (Arena own = Arena.ofConfined()) {
                        MemorySegment to = own.allocate(length + 3L).asSlice(3);
                        mapping.read(offset, to);
                        assertThat(to.mismatch(MemorySegment.ofArray(model).asSlice(offset, length)))
                                .isEqualTo(-1);
                    }
                }
            }
        });
    }

    @Test
    void transfersWithRawAddressesAreCheckedLikeSegments() {
        Mapping mapping = chunked(20_000);
        MemorySegment from = arena.allocate(20_000);
        from.fill((byte) 7);
        MemorySegment to = arena.allocate(20_000);
        mapping.write(0, from.address(), 20_000, 0);
        mapping.read(0, to.address(), 20_000, 0);
        assertThat(to.mismatch(from)).isEqualTo(-1);
        assertThatThrownBy(() -> mapping.read(1, to.address(), 20_000, 0)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> mapping.write(0, from.address(), -1, 0)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> mapping.read(0, to.address(), Long.MIN_VALUE, 0))
                .isInstanceOf(LmrBoundsException.class);
    }

    @Test
    void everyRangeOutsideTheLmrIsRefusedWithItsNumbersEvenIfItOverflows() {
        for (Mapping mapping : List.of(oneExtent(10_000, ALL), chunked(10_000))) {
            byte[] two = new byte[2];
            for (long offset :
                    new long[] {9_999, 10_000, 10_001, -1, Long.MAX_VALUE, Long.MIN_VALUE, Long.MAX_VALUE - 1}) {
                assertThatExceptionOfType(LmrBoundsException.class)
                        .isThrownBy(() -> mapping.read(offset, two))
                        .withMessage("%s: offset %d, length 2 is out of bounds; it has 10000 bytes", mapping, offset);
                assertThatThrownBy(() -> mapping.write(offset, two)).isInstanceOf(LmrBoundsException.class);
            }
            for (long offset : new long[] {9_993, 9_996, 10_000, -8, Long.MAX_VALUE - 7, Long.MIN_VALUE}) {
                assertThatThrownBy(() -> mapping.fetchAdd(offset, 1)).isInstanceOf(LmrBoundsException.class);
                assertThatThrownBy(() -> mapping.testSet(offset, 0, 1)).isInstanceOf(LmrBoundsException.class);
            }
            assertThatThrownBy(() -> mapping.read(0, new byte[10_001])).isInstanceOf(LmrBoundsException.class);
            mapping.read(9_998, two);
            mapping.fetchAdd(9_992, 1);
        }
    }

    @Test
    void anUnalignedWordIsRefusedWithItsOffset() {
        Mapping mapping = oneExtent(64, ALL);
        assertThatExceptionOfType(LmrBoundsException.class)
                .isThrownBy(() -> mapping.fetchAdd(12, 1))
                .withMessage("LMR \"counts\": offset 12 is not a multiple of 8; an atomic word needs that");
        assertThatThrownBy(() -> mapping.testSet(1, 0, 1)).isInstanceOf(LmrBoundsException.class);
    }

    @Test
    void nothingIsTransferredForALengthOfZeroUpToAndIncludingTheEnd() {
        for (Mapping mapping : List.of(oneExtent(8192, ALL), chunked(8192))) {
            mapping.read(0, new byte[0]);
            mapping.write(8192, new byte[0]);
            mapping.read(8192, MemorySegment.NULL);
            assertThatThrownBy(() -> mapping.read(8193, new byte[0])).isInstanceOf(LmrBoundsException.class);
        }
    }

    @Test
    void anOperationWithoutPermissionIsRefusedWithGrantedAndNeededPermissions() {
        Mapping readOnly = oneExtent(64, Permission.READ.bit());
        readOnly.read(0, new byte[8]);
        assertThatExceptionOfType(LmrPermissionException.class)
                .isThrownBy(() -> readOnly.write(0, new byte[8]))
                .withMessage("LMR \"counts\": the handle allows [READ]; this operation needs [WRITE]");
        assertThatThrownBy(() -> readOnly.fetchAdd(0, 1))
                .isInstanceOf(LmrPermissionException.class)
                .hasMessageContaining("[ATOMIC]");
        assertThatThrownBy(() -> readOnly.testSet(0, 0, 1)).isInstanceOf(LmrPermissionException.class);
        assertThatThrownBy(readOnly::extents)
                .isInstanceOf(LmrPermissionException.class)
                .hasMessageContaining("[MASTER]");
        assertThatThrownBy(readOnly::free).isInstanceOf(LmrPermissionException.class);
        Mapping writeOnly = oneExtent(64, Permission.WRITE.bit(), null);
        assertThatThrownBy(() -> writeOnly.read(0, new byte[8]))
                .isInstanceOf(LmrPermissionException.class)
                .hasMessage("anonymous LMR 77: the handle allows [WRITE]; this operation needs [READ]");
        assertThat(readOnly.permissions()).isEqualTo(Set.of(Permission.READ));
    }

    @Test
    void anUnmappedHandleReportsItAndUnmappingAgainDoesNothing() {
        Mapping mapping = oneExtent(64, ALL);
        mapping.unmap();
        mapping.unmap();
        mapping.close();
        assertThat(owner.unmapped).hasValue(1);
        for (org.assertj.core.api.ThrowableAssert.ThrowingCallable use : uses(mapping)) {
            assertThatThrownBy(use)
                    .isInstanceOf(LmrFreedException.class)
                    .hasMessage("LMR \"counts\": the handle was unmapped");
        }
        assertThat(mapping.size()).isEqualTo(64);
        assertThat(mapping.id()).isEqualTo(77);
    }

    private static List<org.assertj.core.api.ThrowableAssert.ThrowingCallable> uses(Mapping mapping) {
        return List.of(
                () -> mapping.read(0, new byte[1]),
                () -> mapping.write(0, new byte[1]),
                () -> mapping.fetchAdd(0, 1),
                () -> mapping.testSet(0, 0, 1),
                mapping::extents,
                mapping::free,
                () -> mapping.read(99, new byte[1]));
    }

    @Test
    void aFreedOrLostHandleReportsTheFirstReasonOfItsEnd() {
        Mapping freed = oneExtent(64, ALL);
        freed.free();
        assertThat(freed.end(new LmrUnavailableException("later"))).isFalse();
        assertThatThrownBy(() -> freed.read(0, new byte[1]))
                .isInstanceOf(LmrFreedException.class)
                .hasMessage("LMR \"counts\": the LMR was freed by a master");
        Mapping lost = oneExtent(64, ALL);
        lost.end(new LmrUnavailableException("node n2 restarted with a new arena"));
        assertThatThrownBy(() -> lost.fetchAdd(0, 1))
                .isInstanceOf(LmrUnavailableException.class)
                .hasMessage("LMR \"counts\": node n2 restarted with a new arena");
    }

    /** An application whose LMRs are freed by others again and again must not reach a limit, so each handle is released exactly once. */
    @Test
    void unmappingAHandleThatAMasterEndedReleasesItOnce() {
        Mapping mapping = oneExtent(64, ALL);
        mapping.end(new LmrFreedException("the LMR was freed by a master"));
        mapping.unmap();
        mapping.unmap();
        assertThat(owner.unmapped).hasValue(1);
    }

    @Test
    void aReadOnlyClosedOrForeignSegmentIsRefusedAndTheHandleStaysUsable() throws Exception {
        for (Mapping mapping : List.of(oneExtent(8192, ALL), chunked(8192))) {
            MemorySegment readOnly = MemorySegment.ofArray(new byte[16]).asReadOnly();
            assertThatThrownBy(() -> mapping.read(0, readOnly)).isInstanceOf(IllegalArgumentException.class);
            mapping.write(0, readOnly);
            MemorySegment gone;
            try (Arena own = Arena.ofConfined()) {
                gone = own.allocate(16);
            }
            assertThatThrownBy(() -> mapping.read(0, gone)).isInstanceOf(IllegalStateException.class);
            try (Arena mine = Arena.ofConfined()) {
                MemorySegment confined = mine.allocate(16);
                ConcurrentLinkedQueue<Throwable> thrown = new ConcurrentLinkedQueue<>();
                Waits.join(Thread.ofPlatform().start(() -> {
                    try {
                        mapping.read(0, confined);
                    } catch (WrongThreadException e) {
                        thrown.add(e);
                    }
                }));
                assertThat(thrown).hasSize(1);
            }
            // Hangs if one of the refused operations leaked its slot.
            mapping.unmap();
        }
    }

    @Test
    void atomicsReturnThePreviousValueAndWrapAround() {
        Mapping mapping = chunked(8192);
        assertThat(mapping.fetchAdd(4096, 5)).isZero();
        assertThat(mapping.fetchAdd(4096, Long.MAX_VALUE)).isEqualTo(5);
        assertThat(mapping.fetchAdd(4096, 0)).isEqualTo(Long.MIN_VALUE + 4);
        assertThat(mapping.testSet(8184, 0, 9)).isZero();
        assertThat(mapping.testSet(8184, 0, 10)).isEqualTo(9);
        assertThat(mapping.testSet(8184, 9, 10)).isEqualTo(9);
        assertThat(mapping.fetchAdd(8184, 0)).isEqualTo(10);
    }

    @Test
    void concurrentAdditionsReturnUniquePreviousValues() {
        Mapping mapping = oneExtent(64, ALL);
        Set<Long> former = java.util.concurrent.ConcurrentHashMap.newKeySet();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 4; index++) {
            threads.add(Thread.ofPlatform().start(() -> {
                for (int count = 0; count < 5_000; count++) {
                    former.add(mapping.fetchAdd(8, 1));
                }
            }));
        }
        threads.forEach(Waits::join);
        assertThat(former).hasSize(20_000);
        assertThat(mapping.fetchAdd(8, 0)).isEqualTo(20_000);
    }

    @Test
    void theExtentsListTheNodesInOrder() {
        List<Extent> extents = chunked(10_000).extents();
        assertThat(extents)
                .containsExactly(
                        new Extent("n0", 0, 4096), new Extent("n1", 4096, 4096), new Extent("n2", 8192, 10_000 - 8192));
    }

    @Test
    void noOperationAllocatesOnTheHeap() {
        try (Arena own = Arena.ofConfined()) {
            MemorySegment nativeMemory = own.allocate(10_000, 8);
            MemorySegment heap = MemorySegment.ofArray(new byte[10_000]);
            MemorySegment heapLongs = MemorySegment.ofArray(new long[1250]);
            for (Mapping mapping : List.of(oneExtent(20_000, ALL), chunked(20_000))) {
                assertNoAllocation("read native", () -> mapping.read(100, nativeMemory));
                assertNoAllocation("write native", () -> mapping.write(100, nativeMemory));
                assertNoAllocation("read heap", () -> mapping.read(100, heap));
                assertNoAllocation("write heap", () -> mapping.write(100, heap));
                assertNoAllocation("read long[]", () -> mapping.read(100, heapLongs));
                assertNoAllocation("read raw", () -> mapping.read(100, nativeMemory.address(), 64, 0));
                assertNoAllocation("write raw", () -> mapping.write(100, nativeMemory.address(), 64, 0));
                assertNoAllocation("fetchAdd", () -> mapping.fetchAdd(8, 3));
                assertNoAllocation("testSet", () -> mapping.testSet(8, 0, 1));
            }
        }
    }

    @Test
    void aShortCopyInOneExtentAllocatesNothing() {
        Mapping mapping = oneExtent(20_000, ALL);
        Mapping other = oneExtent(20_000, ALL);
        Deadline deadline = Deadline.in(Waits.seconds(60));
        assertNoAllocation("memmove", () -> BulkOperations.copy(false, mapping, 0, mapping, 1, 1024, true, deadline));
        assertNoAllocation("memcpy", () -> BulkOperations.copy(false, mapping, 0, other, 4096, 1024, false, deadline));
    }

    @Test
    void aShortCopyMovesOverlappingBytesEitherWayAndTouchesNoOthers() {
        Mapping mapping = oneExtent(4096, ALL);
        Deadline deadline = Deadline.in(Waits.seconds(60));
        for (int shift : new int[] {-100, 100}) {
            byte[] expected = new byte[4096];
            for (int at = 0; at < expected.length; at++) {
                expected[at] = (byte) (at * 31);
            }
            mapping.write(0, MemorySegment.ofArray(expected));
            BulkOperations.copy(false, mapping, 200, mapping, 200 + shift, 1000, true, deadline);
            System.arraycopy(expected, 200, expected, 200 + shift, 1000);
            byte[] now = new byte[4096];
            mapping.read(0, MemorySegment.ofArray(now));
            assertThat(now).isEqualTo(expected);
        }
    }

    /** Else the copies of a job would pass the limit of the link, and the lanes of its priority. */
    @Test
    void aCopyFromThisNodeToAnotherAsksForTheLinkAndUsesTheMemoryOfItsPriority() {
        Mapping here = oneExtent(4096, ALL);
        Mapping elsewhere =
                mapping(4096, 62, List.of(new Share(1, ARENA, List.of(new Run(0, 4096, 0)))), node -> 0, ALL, null);
        List<String> asked = new ArrayList<>();
        owner.admission = recording(Admission.class, asked, false);
        owner.ofPriority = recording(RemoteMemory.class, asked, null);
        BulkOperations.copy(false, here, 0, elsewhere, 0, 64, true, Deadline.in(Waits.seconds(60)));
        assertThat(asked).containsExactly("isLimited false", "write 1");
    }

    /** Else its caller would wait for ever. */
    @Test
    void aTransferThatNoThreadWaitsForEndsAlsoIfThereIsNoMemoryToCountIt() {
        Mapping elsewhere =
                mapping(4096, 62, List.of(new Share(1, ARENA, List.of(new Run(0, 4096, 0)))), node -> 0, ALL, null);
        AtomicReference<@Nullable Consumer<@Nullable RuntimeException>> posted = new AtomicReference<>();
        owner.admission = Admission.class.cast(Proxy.newProxyInstance(
                Admission.class.getClassLoader(), new Class<?>[] {Admission.class}, (proxy, method, arguments) -> {
                    return switch (method.getName()) {
                        case "isLimited" -> false;
                        case "begin" -> 1L;
                        default -> throw new OutOfMemoryError("on purpose");
                    };
                }));
        owner.ofPriority = RemoteMemory.class.cast(Proxy.newProxyInstance(
                RemoteMemory.class.getClassLoader(),
                new Class<?>[] {RemoteMemory.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("mayWait")) {
                        return false;
                    }
                    @SuppressWarnings("unchecked")
                    Consumer<@Nullable RuntimeException> ended =
                            (Consumer<@Nullable RuntimeException>) arguments[arguments.length - 1];
                    posted.set(ended);
                    return true;
                }));
        AtomicInteger ends = new AtomicInteger();
        Access read = Access.read(0, arena.allocate(8));
        assertThat(elsewhere.tryStart(read, FOR_LONG_NS, false, failure -> ends.incrementAndGet()))
                .isTrue();
        Consumer<@Nullable RuntimeException> its = Objects.requireNonNull(posted.get());
        assertThatThrownBy(() -> its.accept(null)).isInstanceOf(OutOfMemoryError.class);
        assertThat(ends).hasValue(1);
    }

    @ParameterizedTest
    @EnumSource(Priority.class)
    void allSlicesOfAnOperationShareItsDeadline(Priority priority) {
        LmrHandle elsewhere =
                mapping(4096, 62, List.of(new Share(1, ARENA, List.of(new Run(0, 4096, 0)))), node -> 0, ALL, null);
        LmrHandle handle = elsewhere.withPriority(priority);
        owner.deadline = Waits.seconds(0.5);
        owner.ofPriority = slow(owner.deadline.multipliedBy(6).dividedBy(10));
        LmrSlice slice = new LmrSlice(0, MemorySegment.ofArray(new byte[8]));
        handle.read(List.of(slice));
        handle.write(List.of(slice));
        assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(() -> handle.read(List.of(slice, slice)));
        assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(() -> handle.write(List.of(slice, slice)));
    }

    @ParameterizedTest
    @EnumSource(Priority.class)
    void slicesInMappedMemoryNeedNoTime(Priority priority) {
        LmrHandle handle = oneExtent(4096, ALL).withPriority(priority);
        owner.deadline = Duration.ofNanos(1);
        handle.write(List.of(slice(0, 1), slice(1, 2)));
        byte[] both = new byte[2];
        MemorySegment segment = MemorySegment.ofArray(both);
        handle.read(List.of(new LmrSlice(0, segment.asSlice(0, 1)), new LmrSlice(1, segment.asSlice(1, 1))));
        assertThat(both).containsExactly(1, 2);
    }

    /** An operation waits for the end of a move, for permits, for the end of another move, and in the fabric. */
    @ParameterizedTest
    @EnumSource(Priority.class)
    void allWaitsOfAnOperationHaveOneDeadline(Priority priority) {
        List<Mapping> mappings = List.of(
                oneExtent(4096, ALL),
                mapping(4096, 62, List.of(new Share(1, ARENA, List.of(new Run(0, 4096, 0)))), node -> 0, ALL, null));
        for (Mapping mapping : mappings) {
            List<Deadline> waits = waitingFor(mapping);
            TierHandle handle = mapping.withPriority(priority);
            MemorySegment bytes = MemorySegment.ofArray(new byte[8]);
            Map<String, Runnable> operations = new TreeMap<>();
            operations.put("read", () -> handle.read(0, bytes));
            operations.put("write", () -> handle.write(0, bytes));
            operations.put("read of slices", () -> handle.read(List.of(new LmrSlice(0, bytes))));
            operations.put("write of slices", () -> handle.write(List.of(new LmrSlice(0, bytes))));
            operations.put("fetchAdd", () -> sink(handle.fetchAdd(0, 1)));
            operations.put("testSet", () -> sink(handle.testSet(0, 1, 2)));
            operations.put("getLong", () -> sink(handle.getLong(0)));
            operations.put("putLong", () -> handle.putLong(0, 1));
            operations.put("getInt", () -> sink(handle.getInt(0)));
            operations.put("putInt", () -> handle.putInt(0, 1));
            if (mapping == mappings.getFirst()) {
                operations.put("memset", () -> handle.memset(0, 8, (byte) 1));
            }
            operations.forEach((name, operation) -> {
                waits.clear();
                mapping.pause();
                operation.run();
                assertThat(waits).as(name).isNotEmpty();
                assertThat(waits.stream().map(Deadline::endNs).distinct())
                        .as("the deadlines of the %d waits of a %s", waits.size(), name)
                        .hasSize(1);
            });
            assertThat(waits)
                    .as("mapped with high priority: it waits only for a move")
                    .hasSizeGreaterThanOrEqualTo(mapping.isOneMappedExtent() && priority == Priority.HIGH ? 1 : 3);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anOperationOnAWordTakesItsPermitsOnceAlsoIfTheWordMovesAfterwards(boolean away) {
        Map<String, Consumer<TierHandle>> operations = Map.of(
                "getLong", handle -> sink(handle.getLong(0)),
                "putLong", handle -> handle.putLong(0, 1),
                "getInt", handle -> sink(handle.getInt(0)),
                "putInt", handle -> handle.putInt(0, 1));
        owner.ofPriority = proxy(RemoteMemory.class, (name, deadline) -> false);
        operations.forEach((operation, run) -> {
            Mapping mapping = oneExtent(4096, ALL);
            Mapping elsewhere =
                    mapping(4096, 62, List.of(new Share(1, ARENA, List.of(new Run(0, 4096, 0)))), node -> 0, ALL, null);
            LmrRecord then = (away ? elsewhere : mapping).lmr();
            long address = away ? 0 : mapping.address();
            AtomicInteger taken = new AtomicInteger();
            owner.admission = proxy(Admission.class, (name, deadline) -> {
                if (name.equals("tryTake")) {
                    taken.incrementAndGet();
                    mapping.pause();
                }
                return true;
            });
            owner.refresh = deadline -> mapping.resume(then, Layout.places(then, node -> address), ALL);

            run.accept(mapping.withPriority(Priority.LOW));

            assertThat(taken).as("permits of a %s", operation).hasValue(1);
        });
    }

    @Test
    void anOperationWithItsOwnDeadlineHasNoOtherOne() {
        Mapping mapping = oneExtent(4096, ALL);
        List<Deadline> waits = waitingFor(mapping);
        Deadline given = Deadline.in(Waits.seconds(60));
        mapping.pause();
        sink(mapping.fetchAdd(0, 1, given));
        mapping.pause();
        sink(mapping.testSet(0, 1, 2, given));
        mapping.pause();
        BulkOperations.copy(true, mapping, 0, mapping, 64, 64, true, given);
        assertThat(waits).hasSizeGreaterThanOrEqualTo(4).allMatch(deadline -> deadline == given);
        waits.clear();
        mapping.pause();
        mapping.free(Waits.seconds(60));
        assertThat(waits).hasSize(1).isEqualTo(owner.frees);
    }

    /**
     * Makes operations wait wherever they can: permits come after a while, and then the LMR moves until it is read again
     * whether it does.
     *
     * @return gets the deadlines of their waits
     */
    private List<Deadline> waitingFor(Mapping mapping) {
        List<Deadline> waits = new ArrayList<>();
        Duration longerThanADeadlineIsShared = owner.deadline.dividedBy(500);
        LmrRecord lmr = mapping.lmr();
        long[] places = Layout.places(lmr, node -> mapping.address());
        owner.refresh = deadline -> {
            waits.add(deadline);
            Waits.pass(longerThanADeadlineIsShared);
            mapping.resume(lmr, places, ALL);
        };
        owner.admission = proxy(Admission.class, (name, deadline) -> {
            if (name.equals("take")) {
                waits.add(deadline);
                Waits.pass(longerThanADeadlineIsShared);
                mapping.pause();
            }
            return name.equals("isLimited");
        });
        owner.ofPriority = proxy(RemoteMemory.class, (name, deadline) -> {
            waits.add(deadline);
            return false;
        });
        return waits;
    }

    /** @param answer given the method's name and last argument, which is a deadline if the method may wait */
    private static <T> T proxy(Class<T> type, BiPredicate<String, Deadline> answer) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    Object last = arguments[arguments.length - 1];
                    Deadline deadline = last instanceof Deadline its ? its : Deadline.in(Duration.ZERO);
                    boolean yes = answer.test(method.getName(), deadline);
                    return method.getReturnType() == boolean.class
                            ? yes
                            : method.getReturnType() == long.class ? 0L : null;
                }));
    }

    private static void sink(long ignored) {}

    private static LmrSlice slice(long offset, int value) {
        return new LmrSlice(offset, MemorySegment.ofArray(new byte[] {(byte) value}));
    }

    /** Memory where every access takes so long, or fails at its deadline. */
    private static RemoteMemory slow(Duration access) {
        return RemoteMemory.class.cast(Proxy.newProxyInstance(
                RemoteMemory.class.getClassLoader(),
                new Class<?>[] {RemoteMemory.class},
                (proxy, method, arguments) -> {
                    Deadline deadline = (Deadline) arguments[arguments.length - 1];
                    boolean late = deadline.remaining().compareTo(access) < 0;
                    Waits.pass(late ? deadline.remaining() : access);
                    if (late) {
                        throw new LiteTimeoutException(deadline.expired(method.getName()));
                    }
                    return null;
                }));
    }

    /** Records the names of the calls, and their first arguments; all of them return the same. */
    private static <T> T recording(Class<T> type, List<String> calls, @Nullable Object result) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    calls.add("%s %s".formatted(method.getName(), arguments[0]));
                    return result;
                }));
    }

    @Test
    void aShortMemsetOrCopyNeedsTheRightsAndStaysWithinTheBounds() {
        Mapping readable = oneExtent(4096, Permission.READ.bit());
        Mapping writable = oneExtent(4096, Permission.WRITE.bit());
        Deadline deadline = Deadline.in(Waits.seconds(60));
        assertThatExceptionOfType(LmrPermissionException.class).isThrownBy(() -> readable.memset(0, 8, (byte) 1));
        assertThatExceptionOfType(LmrPermissionException.class)
                .isThrownBy(() -> BulkOperations.copy(false, writable, 0, writable, 8, 8, true, deadline));
        assertThatExceptionOfType(LmrPermissionException.class)
                .isThrownBy(() -> BulkOperations.copy(false, readable, 0, readable, 8, 8, true, deadline));
        BulkOperations.copy(false, readable, 0, writable, 8, 8, true, deadline);
        for (long bad : new long[] {-1, 4089, Long.MAX_VALUE}) {
            assertThatExceptionOfType(LmrBoundsException.class).isThrownBy(() -> writable.memset(bad, 8, (byte) 1));
            assertThatExceptionOfType(LmrBoundsException.class)
                    .isThrownBy(() -> BulkOperations.copy(false, readable, bad, writable, 0, 8, true, deadline));
            assertThatExceptionOfType(LmrBoundsException.class)
                    .isThrownBy(() -> BulkOperations.copy(false, readable, 0, writable, bad, 8, true, deadline));
        }
        assertThatExceptionOfType(LmrBoundsException.class).isThrownBy(() -> writable.memset(0, -8, (byte) 1));
    }

    @Test
    void aShortMemsetWaitsForTheEndOfAMove() {
        Mapping mapping = oneExtent(4096, ALL);
        mapping.pause();
        Thread sets = Thread.ofPlatform().daemon().start(() -> mapping.memset(0, 8, (byte) 5));
        Waits.until("it waits", () -> sets.getState() == Thread.State.TIMED_WAITING);
        MemorySegment elsewhere = arena.allocate(4096, 8);
        mapping.resume(mapping.lmr(), new long[] {elsewhere.address()}, ALL);
        Waits.until("it has ended", () -> !sets.isAlive());
        assertThat(elsewhere.get(ValueLayout.JAVA_BYTE, 7)).isEqualTo((byte) 5);
    }

    private static void assertNoAllocation(String what, Runnable operation) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().threadId();
        long allocated = Long.MAX_VALUE;
        // Repeat until the JIT compiler is done.
        for (int round = 0; round < 200 && allocated >= 1000; round++) {
            long before = threads.getThreadAllocatedBytes(id);
            for (int count = 0; count < 1000; count++) {
                operation.run();
            }
            allocated = threads.getThreadAllocatedBytes(id) - before;
        }
        assertThat(allocated).as("bytes allocated by 1000 of %s", what).isLessThan(1000);
    }

    /**
     * The reclamation rule under load: as soon as the wait for a handle's end is over, the next owner gets its memory. No byte of the
     * former owner may appear in it afterwards.
     */
    @Test
    void noLateWriteEverReachesReallocatedMemory() {
        int bytes = 64 << 10;
        MemorySegment memory = arena.allocate(bytes, 4096);
        long generation = 1;
        AtomicBoolean over = new AtomicBoolean();
        class Current {
            volatile Mapping mapping = fresh(memory, 1);
        }
        Current current = new Current();
        List<Thread> writers = new ArrayList<>();
        AtomicLong writes = new AtomicLong();
        for (int index = 0; index < 3; index++) {
            boolean word = index == 2;
            writers.add(Thread.ofPlatform().start(() -> {
                MemorySegment data = Arena.ofAuto().allocate(bytes, 8);
                long filled = 0;
                while (!over.get()) {
                    Mapping mapping = current.mapping;
                    long owner = mapping.id();
                    try {
                        if (word) {
                            mapping.testSet(bytes / 2, owner, owner);
                            continue;
                        }
                        if (filled != owner) {
                            fillWith(data, owner);
                            filled = owner;
                        }
                        mapping.write(0, data);
                        writes.incrementAndGet();
                    } catch (LmrFreedException e) {
                        Thread.onSpinWait();
                    }
                }
            }));
        }
        long foreign = 0;
        long endNs = System.nanoTime() + 2_000_000_000L;
        while (System.nanoTime() < endNs) {
            Mapping ended = current.mapping;
            Waits.pass(Duration.ofNanos(20_000));
            ended.end(new LmrFreedException("freed"));
            Mapping.awaitEnd(List.of(ended), Deadline.in(Waits.seconds(10)));
            // The memory is allocated again: only the next owner may change it from now on.
            long next = ++generation;
            fillWith(memory, next);
            for (int check = 0; check < 3; check++) {
                foreign += othersIn(memory, next);
            }
            current.mapping = fresh(memory, next);
        }
        over.set(true);
        writers.forEach(Waits::join);
        assertThat(writes.get()).isGreaterThan(100);
        assertThat(foreign)
                .as("words of former owners, in %d generations", generation)
                .isZero();
    }

    private Mapping fresh(MemorySegment memory, long id) {
        LmrRecord lmr = new LmrRecord(
                id,
                LmrRecord.State.LIVE,
                memory.byteSize(),
                62,
                0,
                Map.of(),
                List.of(new Share(0, ARENA, List.of(new Run(0, memory.byteSize(), 0)))));
        return Mapping.open(new BlankMappings(), lmr, null, ALL, Layout.places(lmr, node -> memory.address()), owner);
    }

    private static void fillWith(MemorySegment memory, long value) {
        for (long at = 0; at < memory.byteSize(); at += 8) {
            memory.set(ValueLayout.JAVA_LONG, at, value);
        }
    }

    private static long othersIn(MemorySegment memory, long value) {
        long others = 0;
        for (long at = 0; at < memory.byteSize(); at += 8) {
            if (RawMemory.getLongOpaque(memory.address() + at) != value) {
                others++;
            }
        }
        return others;
    }

    @Test
    void aWaitingOperationIsNotExecutedAfterTheLocksOfItsSessionWereLost() {
        MemorySegment memory = arena.allocate(64, 64);
        Mapping mapping = mapping(
                64,
                62,
                List.of(new Share(0, ARENA, List.of(new Run(0, 64, 0)))),
                node -> memory.address(),
                ALL,
                "locked");
        long[] places = Layout.places(mapping.lmr(), node -> memory.address());
        for (boolean lost : new boolean[] {true, false}) {
            mapping.pause();
            assertThat(Mapping.awaitEnd(List.of(mapping), Deadline.in(Waits.seconds(5))))
                    .isTrue();
            AtomicReference<@Nullable LmrUnavailableException> refused = new AtomicReference<>();
            Thread waiting = Thread.ofPlatform().start(() -> {
                try {
                    long unused = mapping.fetchAdd(0, 1);
                } catch (LmrUnavailableException e) {
                    refused.set(e);
                }
            });
            Waits.until("it waits", () -> waiting.getState() == Thread.State.TIMED_WAITING);
            if (lost) {
                owner.locksLost.incrementAndGet();
            }
            mapping.resume(mapping.lmr(), places, ALL);
            Waits.join(waiting);
            assertThat(refused.get() != null).as("refused").isEqualTo(lost);
            assertThat(RawMemory.getLong(memory.address())).isEqualTo(lost ? 0 : 1);
        }
    }
}
