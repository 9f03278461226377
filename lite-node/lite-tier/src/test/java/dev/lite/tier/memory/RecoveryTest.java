package dev.lite.tier.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.tier.memory.ExtentTable.State;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Recovery from the extent table of a process that died between two stores. */
class RecoveryTest {
    private static final long BYTES = 4 << 20;
    private static final long LMR = 7;

    @TempDir(factory = InDevShm.class)
    Path root;

    private record Entry(int number, State state, long lmr, long offset, long length) {}

    /** The stores of a split, in order: the rests on both sides, the new extent, the end of the old entry. */
    @Test
    void aCrashAtAnyInstantOfASplitLosesNoLmrAndCleansTheRest() {
        for (int stores = 0; stores <= 4; stores++) {
            try (NodeArena arena = NodeArena.open(TestArena.config(root, BYTES, 64))) {
                long base = arena.dataOffset();
                ExtentRun neighbour = new ExtentRun(base, 4096, 1);
                ExtentRun made = new ExtentRun(base + 16384, 8192, 5);
                dirty(arena, base + 4096, 65536);
                put(arena, new Entry(1, State.ALLOCATED, LMR, neighbour.offset(), neighbour.length()));
                put(arena, new Entry(2, State.UNCLEAN, 3, base + 4096, 65536));
                List<Entry> steps = List.of(
                        new Entry(3, State.UNCLEAN, 0, base + 4096, 12288),
                        new Entry(4, State.UNCLEAN, 0, base + 24576, 45056),
                        new Entry(5, State.ALLOCATED, LMR, made.offset(), made.length()));
                steps.subList(0, Math.min(stores, 3)).forEach(step -> put(arena, step));
                if (stores == 4) {
                    arena.table().clear(2);
                }
                TestArena.fill(arena, neighbour, 1);
                if (stores >= 3) {
                    TestArena.fill(arena, made, 2);
                }
                ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
                assertThat(allocator.allocatedExtents()).isEqualTo(stores >= 3 ? 2 : 1);
                checkThatTheRestIsCleanAndComplete(arena, allocator);
                assertThat(TestArena.isFilled(arena, neighbour, 1)).isTrue();
                assertThat(stores < 3 || TestArena.isFilled(arena, made, 2)).isTrue();
            }
            assertThat(TestArena.file(root).toFile().delete()).isTrue();
        }
    }

    /**
     * While a long entry is being cleaned, its rest is split, allocated and freed again and again. So many entries lie inside the long
     * entry, which still exists.
     */
    @Test
    void anEntryThatOverlapsManyOthersTakesNoneOfTheirBytes() {
        Seeds.forEach(20, random -> {
            try (NodeArena arena = NodeArena.open(TestArena.config(root, BYTES, 256))) {
                long base = arena.dataOffset();
                long covered = 1 << 20;
                dirty(arena, base, covered);
                put(arena, new Entry(100, State.UNCLEAN, 0, base, covered));
                List<ExtentRun> owned = new ArrayList<>();
                long at = base + 4096L * random.nextInt(20);
                for (int entry = 0; entry < 90; entry++) {
                    long length = 64L * (1 + random.nextInt(100));
                    if (at + length > base + covered) {
                        break;
                    }
                    ExtentRun run = new ExtentRun(at, length, entry);
                    boolean allocated = random.nextBoolean();
                    put(arena, new Entry(entry, allocated ? State.ALLOCATED : State.UNCLEAN, LMR, at, length));
                    if (allocated) {
                        TestArena.fill(arena, run, entry);
                        owned.add(run);
                    }
                    at += length + 64L * random.nextInt(50);
                }
                ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
                assertThat(allocator.allocatedExtents()).isEqualTo(owned.size());
                checkThatTheRestIsCleanAndComplete(arena, allocator);
                owned.forEach(run ->
                        assertThat(TestArena.isFilled(arena, run, run.entry())).isTrue());
                owned.forEach(run -> assertThat(allocator.free(LMR, run)).isTrue());
                assertThat(allocator.freeBytes()).isEqualTo(allocator.dataBytes());
                checkThatTheRestIsCleanAndComplete(arena, allocator);
            }
            assertThat(TestArena.file(root).toFile().delete()).isTrue();
        });
    }

    /** Allocates all free memory in granules, checks every byte, and frees it. */
    private static void checkThatTheRestIsCleanAndComplete(NodeArena arena, ArenaAllocator allocator) {
        long free = allocator.freeBytes();
        List<ExtentRun> rest = allocator.allocate(99, 64, free / 64, Integer.MAX_VALUE);
        assertThat(rest.stream().mapToLong(ExtentRun::length).sum()).isEqualTo(free);
        rest.forEach(run -> assertThat(TestArena.isZero(arena, run)).isTrue());
        rest.forEach(run -> TestArena.fill(arena, run, 99));
        rest.forEach(run -> allocator.free(99, run));
    }

    private static void put(NodeArena arena, Entry entry) {
        arena.table().put(entry.number(), entry.state(), entry.lmr(), entry.offset(), entry.length());
    }

    private static void dirty(NodeArena arena, long offset, long length) {
        TestArena.fill(arena, new ExtentRun(offset, length, 0), 55);
    }
}
