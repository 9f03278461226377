package dev.lite.tier.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LimitExceededException;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.ChildJvm;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kills a process that allocates and frees extents and words at a random time, and adopts its arena. */
class ArenaCrashTest {
    private static final long BYTES = 16 << 20;
    private static final int EXTENTS = 1024;
    private static final int KILLS = 6;

    @TempDir(factory = InDevShm.class)
    Path root;

    /** The last line that the killed process printed about an extent or a word. */
    private record Report(ExtentRun run, boolean beingFreed) {}

    @Test
    void everyExtentAndWordThatAKilledProcessReportedSurvivesWithItsBytes() {
        Seeds.forEach(1, random -> {
            Map<Long, ExtentRun> kept = new HashMap<>();
            for (int kill = 0; kill < KILLS; kill++) {
                Map<Long, Report> lastReports = new HashMap<>();
                kept.forEach((lmr, run) -> lastReports.put(lmr, new Report(run, false)));
                runAndKill(random, kill, lastReports);
                kept = check(lastReports, kill);
            }
        });
    }

    private void runAndKill(Random random, int kill, Map<Long, Report> lastReports) {
        try (ChildJvm child = ChildJvm.start(
                Allocating.class, root.toString(), Long.toString(random.nextLong()), Integer.toString(kill))) {
            assertThat(child.line()).isEqualTo("open");
            Map<Long, Report> reports = new ConcurrentHashMap<>();
            Thread reader = Thread.ofPlatform().start(() -> {
                for (String line = child.line(); line != null; line = child.line()) {
                    note(line, reports);
                }
            });
            int enough = 50 + random.nextInt(500);
            Waits.until("the child allocates", () -> reports.size() >= enough);
            Waits.pass(Duration.ofNanos(random.nextInt(10_000_000)));
            child.kill();
            Waits.join(reader);
            assertThat(reports).isNotEmpty();
            lastReports.putAll(reports);
        }
    }

    private static void note(String line, Map<Long, Report> reports) {
        String[] words = line.split(" ", -1);
        if (words.length != 6 || !words[5].equals(".")) {
            return; // truncated by the kill
        }
        ExtentRun run = new ExtentRun(Long.parseLong(words[2]), Long.parseLong(words[3]), Integer.parseInt(words[4]));
        reports.put(Long.parseLong(words[1]), new Report(run, words[0].equals("freeing")));
    }

    /** Adopts the arena; returns the extents that the next process must find. */
    private Map<Long, ExtentRun> check(Map<Long, Report> lastReports, int kill) {
        Map<Long, ExtentRun> kept = new HashMap<>();
        try (NodeArena arena = NodeArena.open(TestArena.config(root, BYTES, EXTENTS))) {
            assertThat(arena.isAdopted()).isTrue();
            ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
            NavigableMap<Long, Long> inTable = allocatedInTable(arena);
            lastReports.forEach((lmr, last) -> {
                if (last.beingFreed()) {
                    return;
                }
                assertThat(allocator.holds(lmr, last.run())).as("LMR %d", lmr).isTrue();
                if (last.run().length() != ArenaAllocator.WORD_BYTES) {
                    assertThat(inTable.get(last.run().offset()))
                            .as("LMR %d", lmr)
                            .isEqualTo(last.run().length());
                }
                assertThat(TestArena.isFilled(arena, last.run(), lmr)).isTrue();
                kept.put(lmr, last.run());
            });
            noOverlap(inTable, arena);
            List<ExtentRun> rest = allocateAll(allocator);
            rest.forEach(run -> assertThat(TestArena.isZero(arena, run)).isTrue());
            rest.forEach(run -> TestArena.fill(arena, run, 99));
            kept.forEach((lmr, run) ->
                    assertThat(TestArena.isFilled(arena, run, lmr)).isTrue());
            rest.forEach(run -> allocator.free(99, run));
            freeSome(kept, allocator, kill);
        }
        return kept;
    }

    private static void freeSome(Map<Long, ExtentRun> kept, ArenaAllocator allocator, int kill) {
        for (Long lmr : List.copyOf(kept.keySet())) {
            if (kept.size() > 50 || lmr % 2 == kill % 2) {
                assertThat(allocator.free(lmr, kept.remove(lmr))).isTrue();
            }
        }
    }

    private static NavigableMap<Long, Long> allocatedInTable(NodeArena arena) {
        ExtentTable table = arena.table();
        TreeMap<Long, Long> allocated = new TreeMap<>();
        for (int entry = 0; entry < table.capacity(); entry++) {
            if (table.state(entry) == ExtentTable.State.ALLOCATED) {
                assertThat(allocated.put(table.offset(entry), table.length(entry)))
                        .isNull();
            }
        }
        return allocated;
    }

    private static void noOverlap(NavigableMap<Long, Long> allocated, NodeArena arena) {
        long end = arena.dataOffset();
        for (Map.Entry<Long, Long> extent : allocated.entrySet()) {
            assertThat(extent.getKey()).isGreaterThanOrEqualTo(end);
            end = extent.getKey() + extent.getValue();
        }
        assertThat(end).isLessThanOrEqualTo(arena.size());
    }

    private static List<ExtentRun> allocateAll(ArenaAllocator allocator) {
        List<ExtentRun> all = new ArrayList<>();
        for (long unit = 1 << 20; unit >= 64; unit /= 4) {
            try {
                while (true) {
                    all.addAll(allocator.allocate(99, unit, 1, 1));
                }
            } catch (LimitExceededException e) {
                // Try a smaller one.
            }
        }
        return all;
    }

    /**
     * Allocates, fills and frees extents and words at random with three threads and a cleaner until it is killed. It prints {@code
     * "allocated"} after it has filled an extent, and {@code "freeing"} before it frees it.
     */
    static final class Allocating {
        private static final PrintStream OUT = new PrintStream(
                new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 12),
                false,
                StandardCharsets.US_ASCII);

        private Allocating() {}

        @SuppressWarnings("MustBeClosedChecker")
        public static void main(String[] arguments) {
            NodeArena arena = NodeArena.open(TestArena.config(Path.of(arguments[0]), BYTES, EXTENTS));
            ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
            Random seeds = new Random(Long.parseLong(arguments[1]));
            long first = (Long.parseLong(arguments[2]) + 1) * 100_000_000;
            say("open");
            for (int index = 0; index < 3; index++) {
                Random random = new Random(seeds.nextLong());
                long lmr = first + index * 10_000_000L;
                Thread.ofPlatform().start(() -> churn(arena, allocator, random, lmr));
            }
            while (true) {
                allocator.clean();
                Thread.onSpinWait();
            }
        }

        private static void churn(NodeArena arena, ArenaAllocator allocator, Random random, long firstLmr) {
            TreeMap<Long, ExtentRun> mine = new TreeMap<>();
            for (long lmr = firstLmr; ; lmr++) {
                if (mine.size() > 25 || (!mine.isEmpty() && random.nextInt(3) == 0)) {
                    Map.Entry<Long, ExtentRun> freed = mine.firstEntry();
                    mine.remove(freed.getKey());
                    say("freeing", freed.getKey(), freed.getValue());
                    allocator.free(freed.getKey(), freed.getValue());
                    continue;
                }
                try {
                    ExtentRun run = random.nextInt(3) == 0
                            ? allocator.allocateWord(lmr)
                            : allocator
                                    .allocate(lmr, 1 + random.nextInt(100_000), 1, 1)
                                    .getFirst();
                    if (!TestArena.isZero(arena, run)) {
                        throw new AssertionError("not clean: " + run);
                    }
                    TestArena.fill(arena, run, lmr);
                    say("allocated", lmr, run);
                    mine.put(lmr, run);
                } catch (LimitExceededException e) {
                    Thread.onSpinWait();
                }
            }
        }

        private static void say(String what, long lmr, ExtentRun run) {
            say("%s %d %d %d %d .".formatted(what, lmr, run.offset(), run.length(), run.entry()));
        }

        private static void say(String line) {
            synchronized (OUT) {
                OUT.print(line + "\n");
                OUT.flush();
            }
        }
    }
}
