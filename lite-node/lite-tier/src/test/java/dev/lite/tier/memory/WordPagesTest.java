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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Words of locks and barriers in the pages of an arena. */
class WordPagesTest {
    private static final long BYTES = 8 << 20;
    private static final int EXTENTS = 1024;
    private static final int SLOTS = (int) (WordPages.PAGE_BYTES / WordPages.SLOT_BYTES);

    @TempDir(factory = InDevShm.class)
    Path root;

    private NodeArena arena;
    private ArenaAllocator allocator;

    /** A word that an LMR should have, and the value in it. */
    private record Word(ExtentRun run, long value) {}

    @BeforeEach
    void open() {
        arena = NodeArena.open(TestArena.config(root, BYTES, EXTENTS));
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

    private long value(ExtentRun word) {
        return RawMemory.getLong(arena.address() + word.offset());
    }

    private void setValue(ExtentRun word, long value) {
        RawMemory.putLong(arena.address() + word.offset(), value);
    }

    private List<ExtentRun> words(int count) {
        List<ExtentRun> words = new ArrayList<>();
        for (long lmr = 1; lmr <= count; lmr++) {
            words.add(allocator.allocateWord(lmr));
        }
        return words;
    }

    @Test
    void manyWordsShareAnExtentAndEachHasACacheLineOfItsOwn() {
        List<ExtentRun> words = words(SLOTS);

        assertThat(allocator.allocatedExtents()).isEqualTo(1);
        assertThat(allocator.allocatedBytes()).isEqualTo(WordPages.PAGE_BYTES);
        assertThat(words)
                .extracting(ExtentRun::entry)
                .containsOnly(words.getFirst().entry());
        assertThat(words).extracting(ExtentRun::length).containsOnly(8L);
        assertThat(words).extracting(word -> word.offset() % 64).containsOnly(0L);
        assertThat(words).extracting(ExtentRun::offset).doesNotHaveDuplicates();
        allocator.allocateWord(SLOTS + 1);
        assertThat(allocator.allocatedExtents()).isEqualTo(2);
    }

    @Test
    void anArenaWithoutWordsHasNoPage() {
        assertThat(allocator.allocatedExtents()).isZero();
        reopen();
        assertThat(allocator.allocatedExtents()).isZero();
        assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
    }

    @Test
    void aPageWithoutWordsIsFreedAndOneIsKept() {
        List<ExtentRun> words = words(3 * SLOTS);
        assertThat(allocator.allocatedExtents()).isEqualTo(3);
        for (int index = 0; index < words.size(); index++) {
            assertThat(allocator.free(index + 1, words.get(index))).isTrue();
        }
        assertThat(allocator.allocatedExtents()).isEqualTo(1);
        ExtentRun kept = allocator.allocateWord(9999);
        assertThat(allocator.allocatedExtents()).isEqualTo(1);
        allocator.free(9999, kept);

        reopen();

        assertThat(allocator.allocatedExtents()).isZero();
        assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
    }

    @Test
    void onlyTheOwnerOfASlotHoldsItAndCanFreeIt() {
        ExtentRun word = allocator.allocateWord(7);
        ExtentRun other = allocator.allocateWord(8);
        ExtentRun extent = allocator.allocate(7, 4096, 1, 1).getFirst();
        List<ExtentRun> wrong = List.of(
                other,
                new ExtentRun(word.offset() + 8, 8, word.entry()),
                new ExtentRun(word.offset() - 64, 8, word.entry()),
                new ExtentRun(word.offset() + WordPages.PAGE_BYTES, 8, word.entry()),
                new ExtentRun(word.offset(), 8, extent.entry()),
                new ExtentRun(word.offset(), 8, -1),
                new ExtentRun(word.offset(), 8, Integer.MAX_VALUE));
        for (ExtentRun run : wrong) {
            assertThat(allocator.holds(7, run)).as("%s", run).isFalse();
            assertThat(allocator.holds(7, run.entry(), run.offset(), 8))
                    .as("%s", run)
                    .isFalse();
            assertThat(allocator.free(7, run)).as("%s", run).isFalse();
        }
        for (long lmr : new long[] {0, -1, -7, 9, Long.MIN_VALUE}) {
            assertThat(allocator.holds(lmr, word)).as("LMR %d", lmr).isFalse();
            assertThat(allocator.free(lmr, word)).as("LMR %d", lmr).isFalse();
        }
        assertThat(allocator.holds(7, word)).isTrue();
        assertThat(allocator.holds(7, word.entry(), word.offset(), 8)).isTrue();
        assertThat(allocator.holds(7, word.entry(), word.offset(), 9)).isFalse();
        assertThat(allocator.holds(7, word.entry(), word.offset(), -1)).isFalse();
        assertThat(allocator.free(7, word)).isTrue();
        assertThat(allocator.free(7, word)).isFalse();
        assertThat(allocator.holds(7, word)).isFalse();
        assertThat(allocator.holds(8, other)).isTrue();
        assertThatThrownBy(() -> allocator.allocateWord(0)).isInstanceOf(IllegalArgumentException.class);
    }

    /** Arenas of earlier versions have such words. */
    @Test
    void aWordWithAnExtentOfItsOwnIsHeldAndFreedLikeOneInAPage() {
        ExtentRun extent = allocator.allocate(7, 8, 1, 1).getFirst();
        ExtentRun asWord = new ExtentRun(extent.offset(), 8, extent.entry());
        setValue(extent, 42);
        allocator.allocateWord(8);
        reopen();
        assertThat(allocator.holds(7, asWord)).isTrue();
        assertThat(allocator.holds(7, asWord.entry(), asWord.offset(), 8)).isTrue();
        assertThat(value(asWord)).isEqualTo(42);
        assertThat(allocator.free(7, asWord)).isTrue();
        assertThat(allocator.allocatedBytes()).isEqualTo(WordPages.PAGE_BYTES);
    }

    @Test
    void aReusedSlotIsZero() {
        ExtentRun word = allocator.allocateWord(7);
        setValue(word, -1);
        allocator.free(7, word);
        ExtentRun next = allocator.allocateWord(8);
        assertThat(next).isEqualTo(word);
        assertThat(value(next)).isZero();
    }

    @Test
    void aRepeatedMessageThatFreesAWordDoesNotFreeTheNextWordOfTheSameLmr() {
        ExtentRun first = allocator.allocateWord(7);
        assertThat(allocator.free(7, first)).isTrue();
        // The word moved back.
        ExtentRun second = allocator.allocateWord(7);
        assertThat(second.offset()).isNotEqualTo(first.offset());

        assertThat(allocator.free(7, first)).isFalse();

        assertThat(allocator.holds(7, second)).isTrue();
        allocator.free(7, second);
        reopen();
    }

    /** The slots that LMRs gave back last are remembered in the page, also beyond a restart. */
    @Test
    void afterARestartAnLmrStillDoesNotGetTheSlotThatItGaveBack() {
        ExtentRun stays = allocator.allocateWord(6);
        ExtentRun first = allocator.allocateWord(7);
        allocator.free(7, first);
        reopen();
        assertThat(allocator.holds(6, stays)).isTrue();
        assertThat(allocator.allocateWord(7).offset()).isNotEqualTo(first.offset());
        assertThat(allocator.allocateWord(8)).isEqualTo(first);
    }

    /** The stores of a word's life: the page's entry, the zero word, the id; and at its end the negated id. */
    @Test
    void aCrashBetweenAnyTwoStoresLeavesASlotThatIsTakenOrFree() {
        for (int stores = 0; stores <= 3; stores++) {
            ExtentRun neighbour = allocator.allocateWord(6);
            setValue(neighbour, 66);
            ExtentRun word = allocator.allocateWord(7);
            setValue(word, 77);
            long id = arena.address() + word.offset() + 8;
            switch (stores) {
                case 0 -> RawMemory.putLong(id, -5); // before the word is zeroed
                case 1 -> {
                    RawMemory.putLong(id, -5);
                    setValue(word, 0);
                }
                case 2 -> RawMemory.putLong(id, 7);
                default -> RawMemory.putLong(id, -7);
            }
            reopen();
            assertThat(value(neighbour)).isEqualTo(66);
            assertThat(allocator.holds(6, neighbour)).isTrue();
            assertThat(allocator.holds(7, word)).isEqualTo(stores == 2);
            if (stores == 2) {
                assertThat(value(word)).isEqualTo(77);
                assertThat(allocator.free(7, word)).isTrue();
            }
            ExtentRun next = allocator.allocateWord(8);
            assertThat(next).isEqualTo(word);
            assertThat(value(next)).isZero();
            allocator.free(8, next);
            allocator.free(6, neighbour);
        }
    }

    @Test
    void aPageThatGotNoWordBeforeACrashIsFree() {
        allocator.allocate(WordPages.OWNER, WordPages.PAGE_BYTES, 1, 1);
        reopen();
        assertThat(allocator.allocatedExtents()).isZero();
        assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
    }

    @Test
    void anArenaWithoutALongFreeRunGivesShorterPages() {
        allocator.allocate(1, allocator.freeBytes() - 4096, 1, 1);
        allocator.allocate(1, 64, 63, 1);
        assertThat(allocator.freeBytes()).isEqualTo(64);

        ExtentRun word = allocator.allocateWord(7);

        assertThat(allocator.freeBytes()).isZero();
        assertThat(allocator.holds(7, word)).isTrue();
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> allocator.allocateWord(8))
                .withMessageContaining("node n0 has 0 bytes free");
        allocator.free(7, word);
        // The only free slot is the one that this LMR gave back.
        assertThatThrownBy(() -> allocator.allocateWord(7)).isInstanceOf(LimitExceededException.class);
        assertThat(allocator.allocateWord(8)).isEqualTo(word);
    }

    @Test
    void aClosedAllocatorRefusesWords() {
        ExtentRun word = allocator.allocateWord(7);
        allocator.close();
        assertThatThrownBy(() -> allocator.allocateWord(8)).isInstanceOf(NodeUnreachableException.class);
        assertThat(allocator.holds(7, word)).isFalse();
        assertThat(allocator.free(7, word)).isFalse();
    }

    @Test
    void wordsAndExtentsAgreeWithAModelOverManyStepsAndRestarts() {
        Seeds.forEach(6, random -> {
            Map<Long, Word> words = new HashMap<>();
            Map<Long, ExtentRun> extents = new HashMap<>();
            long lmr = 0;
            for (int step = 0; step < 4000; step++) {
                lmr += 8;
                boolean grows = step / 1000 % 2 == 0;
                switch (random.nextInt(12)) {
                    case 0 -> allocator.clean();
                    case 1 -> {
                        if (extents.size() < 40) {
                            ExtentRun run = allocator
                                    .allocate(lmr, 1 + random.nextInt(50_000), 1, 1)
                                    .getFirst();
                            assertThat(TestArena.isZero(arena, run)).isTrue();
                            TestArena.fill(arena, run, lmr);
                            extents.put(lmr, run);
                        }
                    }
                    case 2 -> freeAnExtent(random, extents);
                    case 3 -> {
                        if (random.nextInt(40) == 0) {
                            reopen();
                        }
                    }
                    default -> {
                        for (int count = random.nextInt(8); count > 0; count--) {
                            if (random.nextInt(10) < (grows ? 8 : 2)) {
                                allocateAWord(random, words, lmr + count);
                            } else {
                                freeAWord(random, words);
                            }
                        }
                    }
                }
                if (step % 500 == 0) {
                    check(words, extents);
                }
            }
            check(words, extents);
            words.forEach(
                    (id, word) -> assertThat(allocator.free(id, word.run())).isTrue());
            extents.forEach((id, run) -> assertThat(allocator.free(id, run)).isTrue());
            assertThat(allocator.allocatedBytes()).isLessThanOrEqualTo(WordPages.PAGE_BYTES);
            reopen();
            assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
        });
    }

    private void allocateAWord(Random random, Map<Long, Word> words, long lmr) {
        ExtentRun run = allocator.allocateWord(lmr);
        assertThat(value(run)).isZero();
        long value = random.nextLong();
        setValue(run, value);
        words.put(lmr, new Word(run, value));
    }

    private void freeAWord(Random random, Map<Long, Word> words) {
        if (words.isEmpty()) {
            return;
        }
        Long lmr = List.copyOf(words.keySet()).get(random.nextInt(words.size()));
        Word word = words.remove(lmr);
        assertThat(value(word.run())).isEqualTo(word.value());
        assertThat(allocator.free(lmr, word.run())).isTrue();
        assertThat(allocator.free(lmr, word.run())).isFalse();
        if (random.nextInt(4) == 0) {
            ExtentRun again = allocator.allocateWord(lmr);
            assertThat(again.offset()).isNotEqualTo(word.run().offset());
            assertThat(value(again)).isZero();
            words.put(lmr, new Word(again, 0));
        }
    }

    private void freeAnExtent(Random random, Map<Long, ExtentRun> extents) {
        if (!extents.isEmpty()) {
            Long lmr = List.copyOf(extents.keySet()).get(random.nextInt(extents.size()));
            ExtentRun run = extents.remove(lmr);
            assertThat(TestArena.isFilled(arena, run, lmr)).isTrue();
            assertThat(allocator.free(lmr, run)).isTrue();
        }
    }

    private void check(Map<Long, Word> words, Map<Long, ExtentRun> extents) {
        Map<Long, ExtentRun> expected = new HashMap<>(extents);
        words.forEach((lmr, word) -> expected.put(lmr, word.run()));
        Map<Long, ExtentRun> found = new HashMap<>();
        allocator.forEachExtent((lmr, run) -> assertThat(found.put(lmr, run)).isNull());
        assertThat(found).isEqualTo(expected);
        words.forEach((lmr, word) -> {
            assertThat(value(word.run())).isEqualTo(word.value());
            assertThat(allocator.holds(lmr, word.run())).isTrue();
        });
        extents.forEach(
                (lmr, run) -> assertThat(TestArena.isFilled(arena, run, lmr)).isTrue());
        long extentBytes =
                extents.values().stream().mapToLong(ExtentRun::length).sum();
        long pages = words.values().stream()
                .map(word -> word.run().entry())
                .distinct()
                .count();
        assertThat(allocator.allocatedBytes() - extentBytes)
                .isBetween(pages * WordPages.PAGE_BYTES, (pages + 1) * WordPages.PAGE_BYTES);
        assertThat(allocator.allocatedExtents() - extents.size()).isBetween((int) pages, (int) pages + 1);
    }

    @Test
    void concurrentThreadsNeverGetTheSameSlotAndLoseNone() {
        ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
        AtomicBoolean over = new AtomicBoolean();
        AtomicLong ids = new AtomicLong();
        Seeds.forEach(3, random -> {
            List<Thread> threads = new ArrayList<>();
            for (int index = 0; index < 4; index++) {
                Random own = new Random(random.nextLong());
                threads.add(Thread.ofPlatform().start(() -> noting(wrong, () -> churn(own, ids))));
            }
            Thread scanner = Thread.ofPlatform()
                    .start(() -> noting(wrong, () -> {
                        while (!over.get()) {
                            allocator.forEachExtent(
                                    (lmr, run) -> assertThat(lmr).isPositive().isLessThanOrEqualTo(ids.get()));
                            allocator.clean();
                        }
                    }));
            threads.forEach(Waits::join);
            over.set(true);
            Waits.join(scanner);
            over.set(false);
            assertThat(wrong).isEmpty();
            allocator.forEachExtent((lmr, run) -> {
                throw new AssertionError("LMR %d still has %s".formatted(lmr, run));
            });
            assertThat(allocator.allocatedExtents()).isLessThanOrEqualTo(1);
        });
    }

    private static void noting(ConcurrentLinkedQueue<Throwable> wrong, Runnable body) {
        try {
            body.run();
        } catch (RuntimeException | Error e) {
            wrong.add(e);
        }
    }

    /** Every slot counts what its owners add; a slot of two owners would show a sum that nobody expects. */
    private void churn(Random random, AtomicLong ids) {
        Map<Long, ExtentRun> mine = new HashMap<>();
        for (int round = 0; round < 4; round++) {
            for (int count = 0; count < 900; count++) {
                long lmr = ids.incrementAndGet();
                ExtentRun run = allocator.allocateWord(lmr);
                assertThat(RawMemory.getAndAddLong(arena.address() + run.offset(), lmr))
                        .isZero();
                mine.put(lmr, run);
                if (random.nextInt(4) == 0) {
                    give(mine, List.copyOf(mine.keySet()).get(random.nextInt(mine.size())));
                }
            }
            List.copyOf(mine.keySet()).forEach(lmr -> give(mine, lmr));
        }
    }

    private void give(Map<Long, ExtentRun> mine, long lmr) {
        ExtentRun run = mine.remove(lmr);
        assertThat(value(run)).isEqualTo(lmr);
        assertThat(allocator.free(lmr, run)).isTrue();
    }
}
