package dev.lite.tier.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.RawMemory;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArenaAllocatorTest {
    private static final long BYTES = 8 << 20;
    private static final int EXTENTS = 4096;

    @TempDir(factory = InDevShm.class)
    Path root;

    private NodeArena arena;
    private ArenaAllocator allocator;

    private record Owned(long lmr, ExtentRun run) {}

    @BeforeEach
    void open() {
        open(BYTES, EXTENTS);
    }

    private void open(long bytes, int extents) {
        arena = NodeArena.open(TestArena.config(root, bytes, extents));
        allocator = new ArenaAllocator(arena, TestArena.NODE);
    }

    private void reopen() {
        arena.close();
        open();
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    void allocatedMemoryIsZeroAlignedAndDisjoint() {
        Seeds.forEach(8, random -> {
            TreeMap<Long, Owned> owned = new TreeMap<>();
            for (int step = 0; step < 1500; step++) {
                randomStep(random, owned, step + 1);
                checkTotals(owned);
            }
            owned.values()
                    .forEach(one -> assertThat(TestArena.isFilled(arena, one.run(), one.lmr()))
                            .isTrue());
            owned.values().forEach(one -> allocator.free(one.lmr(), one.run()));
            assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
            cleanAll();
            assertThat(allocator.uncleanBytes()).isZero();
            ExtentRun whole = allocator.allocate(7, allocator.dataBytes(), 1, 1).getFirst();
            assertThat(whole.length()).isEqualTo(allocator.dataBytes());
            assertThat(TestArena.isZero(arena, whole)).isTrue();
            allocator.free(7, whole);
        });
    }

    @Test
    void aReopenedArenaKeepsItsExtentsAndTheirBytes() {
        Seeds.forEach(5, random -> {
            TreeMap<Long, Owned> owned = new TreeMap<>();
            for (int round = 0; round < 4; round++) {
                for (int step = 0; step < 300; step++) {
                    randomStep(random, owned, round * 1000L + step + 1);
                }
                reopen();
                assertThat(arena.isAdopted()).isTrue();
                checkTotals(owned);
                owned.values()
                        .forEach(one -> assertThat(TestArena.isFilled(arena, one.run(), one.lmr()))
                                .isTrue());
            }
            owned.values()
                    .forEach(one ->
                            assertThat(allocator.free(one.lmr(), one.run())).isTrue());
            assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
        });
    }

    private void randomStep(Random random, NavigableMap<Long, Owned> owned, long lmr) {
        int choice = random.nextInt(10);
        if (choice < 1) {
            allocator.clean();
        } else if (choice < 5 && !owned.isEmpty()) {
            Long key = owned.ceilingKey(random.nextLong(arena.size()));
            Owned freed = owned.remove(key != null ? key : owned.firstKey());
            assertThat(TestArena.isFilled(arena, freed.run(), freed.lmr())).isTrue();
            assertThat(allocator.free(freed.lmr(), freed.run())).isTrue();
        } else {
            long unit = random.nextBoolean() ? 1 + random.nextInt(4000) : 4096L * (1 + random.nextInt(64));
            int count = 1 + random.nextInt(6);
            int runsMax = 1 + random.nextInt(4);
            long freeBefore = allocator.freeBytes();
            try {
                List<ExtentRun> runs = allocator.allocate(lmr, unit, count, runsMax);
                assertThat(runs).hasSizeBetween(1, runsMax);
                runs.forEach(run -> enter(owned, lmr, unit, run));
            } catch (LimitExceededException e) {
                assertThat(allocator.freeBytes()).isEqualTo(freeBefore);
            }
        }
    }

    private void enter(NavigableMap<Long, Owned> owned, long lmr, long unit, ExtentRun run) {
        assertThat(run.offset() % (unit >= 4096 ? 4096 : 64)).isZero();
        assertThat(run.length()).isGreaterThanOrEqualTo(unit);
        assertThat(run.offset()).isGreaterThanOrEqualTo(arena.dataOffset());
        assertThat(run.offset() + run.length()).isLessThanOrEqualTo(arena.size());
        var below = owned.floorEntry(run.offset());
        if (below != null) {
            ExtentRun former = below.getValue().run();
            assertThat(former.offset() + former.length()).isLessThanOrEqualTo(run.offset());
        }
        Long above = owned.higherKey(run.offset());
        assertThat(above == null || above >= run.offset() + run.length()).isTrue();
        assertThat(TestArena.isZero(arena, run)).isTrue();
        TestArena.fill(arena, run, lmr);
        owned.put(run.offset(), new Owned(lmr, run));
    }

    private void checkTotals(NavigableMap<Long, Owned> owned) {
        long sum = owned.values().stream().mapToLong(one -> one.run().length()).sum();
        assertThat(allocator.allocatedBytes()).isEqualTo(sum);
        assertThat(allocator.allocatedExtents()).isEqualTo(owned.size());
        assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes() - sum);
        assertThat(allocator.uncleanBytes()).isBetween(0L, allocator.freeBytes());
    }

    private void cleanAll() {
        while (allocator.clean() > 0) {}
    }

    @Test
    void allocatingFromAFullArenaIsRefusedWithTheNumbersAndTakesNothing() {
        long half = allocator.dataBytes() / 2 / 4096 * 4096;
        allocator.allocate(1, half, 1, 1);
        long free = allocator.freeBytes();
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> allocator.allocate(2, 1 << 20, 100, 10))
                .withMessage("node n0 has %d bytes free of %d; the request needs %d"
                        .formatted(free, allocator.dataBytes(), 100L << 20));
        assertThat(allocator.freeBytes()).isEqualTo(free);
        assertThat(allocator.uncleanBytes()).isZero();
        assertThat(allocator.allocatedExtents()).isEqualTo(1);
    }

    @Test
    void aFragmentedArenaReportsItsLongestFreeRunAndRollsBack() {
        List<ExtentRun> pages = new ArrayList<>();
        for (long left = allocator.dataBytes() / 4096; left > 0; left--) {
            pages.add(allocator.allocate(1, 4096, 1, 1).getFirst());
        }
        for (int index = 0; index < pages.size(); index += 2) {
            allocator.free(1, pages.get(index));
        }
        cleanAll();
        long free = allocator.freeBytes();
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> allocator.allocate(2, 8192, 1, 1))
                .withMessageContaining("%d bytes free".formatted(free))
                .withMessageContaining("its longest free run has 4096; the request needs a run of 8192");
        assertThat(allocator.freeBytes()).isEqualTo(free);
        // Enough is free in single pages.
        assertThat(allocator.allocate(3, 4096, 10, 80)).hasSize(10);
    }

    @Test
    void chunksAreAllocatedInOneRunIfOneIsLongEnoughAndOtherwiseInSeveral() {
        List<ExtentRun> one = allocator.allocate(1, 4096, 100, 80);
        assertThat(one).hasSize(1);
        assertThat(one.getFirst().length()).isEqualTo(100 * 4096);
        allocator.free(1, one.getFirst());
        cleanAll();

        List<ExtentRun> pieces = new ArrayList<>();
        for (long left = allocator.dataBytes() / (3 * 4096); left > 0; left--) {
            pieces.add(allocator.allocate(2, 3 * 4096, 1, 1).getFirst());
        }
        for (int index = 0; index < pieces.size(); index += 2) {
            allocator.free(2, pieces.get(index));
        }
        List<ExtentRun> several = allocator.allocate(3, 4096, 10, 80);
        assertThat(several.stream().mapToLong(ExtentRun::length).sum()).isEqualTo(10 * 4096);
        assertThat(several).hasSizeGreaterThan(1);
        assertThat(allocator.allocate(4, 4096, 10, 2)).hasSize(2);
    }

    @Test
    void aFullExtentTableIsReportedWithItsLimitAndWorksAgainAfterAFree() {
        reopenWith(64);
        List<ExtentRun> runs = new ArrayList<>();
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> {
                    while (true) {
                        runs.add(allocator.allocate(1, 64, 1, 1).getFirst());
                    }
                })
                .withMessageContaining("the limit of its arena is 64 (lite.node.arena.extents)");
        assertThat(runs).hasSizeGreaterThan(58);
        runs.subList(0, 8).forEach(run -> allocator.free(1, run));
        cleanAll();
        assertThat(allocator.allocate(2, 64, 1, 1)).hasSize(1);
    }

    @Test
    void aNearlyFullTableAllocatesFromUncleanMemoryOrRefusesCleanly() {
        reopenWith(64);
        // A freed run that starts between two page borders: allocating a page from it leaves a rest on both sides, so
        // it needs three entries.
        List<ExtentRun> small = new ArrayList<>();
        for (int count = 0; count < 60; count++) {
            small.add(allocator.allocate(1, 64, 1, 1).getFirst());
        }
        ExtentRun freed = allocator.allocate(2, 64, 5000, 1).getFirst();
        allocator.allocate(4, 64, allocator.freeBytes() / 64, 1);
        assertThat(freed.offset() % 4096).isNotZero();
        allocator.free(2, freed);
        for (int more = 0; more < 10; more++) {
            long free = allocator.freeBytes();
            try {
                allocator.allocate(3, 4096, 1, 1);
            } catch (LimitExceededException e) {
                assertThat(allocator.freeBytes()).isEqualTo(free);
            }
        }
        cleanAll();
        small.forEach(run -> assertThat(allocator.free(1, run)).isTrue());
    }

    /** Zeroing runs outside of the lock. Meanwhile, no other thread may take the entries that its end needs. */
    @Test
    void threadsThatSplitUncleanMemoryConcurrentlyNeverOverflowANearlyFullTable() {
        reopenWith(64);
        Seeds.forEach(40, random -> {
            List<ExtentRun> fillers = new ArrayList<>();
            for (int count = 0; count < 48; count++) {
                fillers.add(allocator.allocate(1, 64, 1, 1).getFirst());
            }
            List<ExtentRun> dirtyOnes = new ArrayList<>();
            for (int count = 0; count < 10; count++) {
                dirtyOnes.add(allocator.allocate(2, 640 << 10, 1, 1).getFirst());
            }
            dirtyOnes.add(allocator
                    .allocate(2, allocator.freeBytes() / 4096 * 4096, 1, 1)
                    .getFirst());
            dirtyOnes.forEach(run -> allocator.free(2, run));
            ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
            ConcurrentLinkedQueue<ExtentRun> got = new ConcurrentLinkedQueue<>();
            List<Thread> threads = new ArrayList<>();
            for (int index = 0; index < 8; index++) {
                threads.add(Thread.ofPlatform().start(() -> {
                    try {
                        for (int count = 0; count < 4; count++) {
                            got.addAll(allocator.allocate(3, 512 << 10, 1, 1));
                        }
                    } catch (LimitExceededException e) {
                        assertThat(e).hasMessageContaining("extents");
                    } catch (RuntimeException | Error e) {
                        wrong.add(e);
                    }
                }));
            }
            threads.forEach(Waits::join);
            assertThat(wrong).isEmpty();
            got.forEach(run -> allocator.free(3, run));
            fillers.forEach(run -> allocator.free(1, run));
            cleanAll();
            assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
        });
    }

    private void reopenWith(int extents) {
        arena.close();
        assertThat(TestArena.file(root).toFile().delete()).isTrue();
        open(BYTES, extents);
    }

    /** A mover and the node that undid its move may both free the new memory; the free of one may be late. */
    @Test
    void aLateSecondFreeDoesNotTakeMemoryThatTheSameLmrGotAgain() {
        ExtentRun before = allocator.allocate(7, 4096, 1, 1).getFirst();
        assertThat(allocator.free(7, before)).isTrue();
        cleanAll();
        ExtentRun now = allocator.allocate(7, 4096, 1, 1).getFirst();
        assertThat(now.offset()).as("the memory that was freed").isEqualTo(before.offset());

        assertThat(allocator.holds(7, before)).isFalse();
        assertThat(allocator.free(7, before)).isFalse();
        assertThat(allocator.holds(7, now)).isTrue();

        reopen();
        assertThat(allocator.free(7, before)).as("after a restart").isFalse();
        assertThat(allocator.holds(7, now)).isTrue();
        assertThat(allocator.free(7, now)).isTrue();
    }

    @Test
    void freeingTwiceOrWithTheWrongOwnerDoesNothing() {
        ExtentRun run = allocator.allocate(1, 4096, 1, 1).getFirst();
        assertThat(allocator.free(2, run)).isFalse();
        assertThat(allocator.free(1, new ExtentRun(run.offset() + 64, run.length(), run.entry())))
                .isFalse();
        assertThat(allocator.free(1, new ExtentRun(run.offset(), run.length(), -1)))
                .isFalse();
        assertThat(allocator.free(1, new ExtentRun(run.offset(), run.length(), Integer.MAX_VALUE)))
                .isFalse();
        assertThat(allocator.free(1, run)).isTrue();
        assertThat(allocator.free(1, run)).isFalse();
        assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
    }

    @Test
    void memoryOfTheNodeItselfIsFreeAgainAfterARestart() {
        ExtentRun run =
                allocator.allocate(ArenaAllocator.INTERNAL_LMR, 1 << 20, 1, 1).getFirst();
        TestArena.fill(arena, run, 1);
        reopen();
        assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
        ExtentRun all = allocator.allocate(1, allocator.dataBytes(), 1, 1).getFirst();
        assertThat(TestArena.isZero(arena, all)).isTrue();
    }

    /** Malloc and free keep every entry valid at every instant: only the last word of an entry in use changes. */
    @Test
    void freeingChangesAnEntryByOneStore() {
        ExtentRun run = allocator.allocate(42, 4096, 1, 1).getFirst();
        long entry = arena.address() + 4096 + (long) run.entry() * ExtentTable.ENTRY_BYTES;
        long[] before = words(entry);
        allocator.free(42, run);
        long[] after = words(entry);
        assertThat(after[3]).isNotEqualTo(before[3]);
        assertThat(List.of(after[0], after[1], after[2])).isEqualTo(List.of(before[0], before[1], before[2]));
    }

    private static long[] words(long entry) {
        return new long[] {
            RawMemory.getLong(entry),
            RawMemory.getLong(entry + 8),
            RawMemory.getLong(entry + 16),
            RawMemory.getLong(entry + 24)
        };
    }

    @Test
    void manyThreadsGetDisjointCleanMemoryWhileACleanerRuns() {
        AtomicBoolean stop = new AtomicBoolean();
        ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
        AtomicLong lmrs = new AtomicLong();
        Thread cleaner = Thread.ofPlatform().start(() -> {
            while (!stop.get()) {
                if (allocator.clean() == 0) {
                    Waits.pass(Duration.ofNanos(20_000));
                }
            }
        });
        Seeds.forEach(1, seeds -> {
            List<Thread> threads = new ArrayList<>();
            for (int index = 0; index < 4; index++) {
                Random random = new Random(seeds.nextLong());
                threads.add(Thread.ofPlatform().start(() -> {
                    try {
                        churn(random, lmrs);
                    } catch (RuntimeException | Error e) {
                        wrong.add(e);
                    }
                }));
            }
            threads.forEach(Waits::join);
        });
        stop.set(true);
        Waits.join(cleaner);
        assertThat(wrong).isEmpty();
        assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
        cleanAll();
        assertThat(allocator.allocate(1, allocator.dataBytes(), 1, 1)).hasSize(1);
    }

    /** Unmapping the arena while a thread uses it would crash this JVM. */
    @Test
    void aClosedAllocatorNeverTouchesTheArenaAgain() {
        arena.close();
        for (int round = 0; round < 20; round++) {
            open();
            ArenaAllocator closing = allocator;
            AtomicBoolean over = new AtomicBoolean();
            AtomicLong done = new AtomicLong();
            ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
            List<Thread> threads = new ArrayList<>();
            for (int index = 0; index < 3; index++) {
                threads.add(Thread.ofPlatform().start(() -> {
                    while (!over.get()) {
                        try {
                            ExtentRun run = closing.allocate(1, 100_000, 1, 1).getFirst();
                            closing.free(1, run);
                            done.incrementAndGet();
                        } catch (NodeUnreachableException e) {
                            return;
                        } catch (RuntimeException | Error e) {
                            wrong.add(e);
                            return;
                        }
                    }
                }));
            }
            Waits.until("they run", () -> done.get() > 100);
            allocator.close();
            arena.close();
            threads.forEach(Waits::join);
            over.set(true);
            assertThat(wrong).isEmpty();
            assertThat(closing.clean()).isZero();
        }
    }

    @Test
    void anAllocationOfMoreThanIsFreeTakesNothingWhileOthersZeroFreedMemory() {
        long part = 2 << 20;
        AtomicLong rounds = new AtomicLong();
        ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
        Thread other = Thread.ofPlatform().start(() -> {
            try {
                for (; rounds.get() < 500; rounds.incrementAndGet()) {
                    allocator.free(1, allocator.allocate(1, part, 1, 1).getFirst());
                    allocator.clean();
                }
            } catch (RuntimeException | Error e) {
                wrong.add(e);
            }
        });
        while (other.isAlive()) {
            assertThatExceptionOfType(LimitExceededException.class)
                    .isThrownBy(() -> allocator.allocate(2, 1 << 20, BYTES >> 20, 80));
            assertThat(allocator.uncleanBytes()).as("what it took is not clean").isLessThanOrEqualTo(part);
        }
        Waits.join(other);
        assertThat(wrong).isEmpty();
    }

    private void churn(Random random, AtomicLong lmrs) {
        List<Owned> mine = new ArrayList<>();
        for (int step = 0; step < 3000; step++) {
            if (mine.size() > 20 || (!mine.isEmpty() && random.nextBoolean())) {
                Owned one = mine.remove(random.nextInt(mine.size()));
                assertThat(TestArena.isFilled(arena, one.run(), one.lmr())).isTrue();
                assertThat(allocator.free(one.lmr(), one.run())).isTrue();
                continue;
            }
            long lmr = lmrs.incrementAndGet();
            try {
                for (ExtentRun run : allocator.allocate(lmr, 1 + random.nextInt(200_000), 1, 1)) {
                    assertThat(TestArena.isZero(arena, run)).isTrue();
                    TestArena.fill(arena, run, lmr);
                    mine.add(new Owned(lmr, run));
                }
            } catch (LimitExceededException e) {
                // The other threads may have allocated everything.
                assertThat(e).hasMessageContaining("bytes");
            }
        }
        mine.forEach(one -> allocator.free(one.lmr(), one.run()));
    }

    @Test
    void aSizeThatOverflowsIsRefusedLikeAnyTooLargeSize() {
        assertThatThrownBy(() -> allocator.allocate(1, Long.MAX_VALUE, 1, 1))
                .isInstanceOf(LimitExceededException.class);
        assertThatThrownBy(() -> allocator.allocate(1, 1 << 20, Long.MAX_VALUE, 1))
                .isInstanceOf(LimitExceededException.class);
        assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
    }
}
