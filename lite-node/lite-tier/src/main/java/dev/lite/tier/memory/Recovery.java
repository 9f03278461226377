package dev.lite.tier.memory;

import dev.lite.os.RawMemory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Reads the extent table of an adopted arena, at whatever instant the last process stopped, and completes what that
 * process was doing. One thread, before anybody else uses the table.
 */
final class Recovery {
    private static final Comparator<ExtentRun> BY_OFFSET = Comparator.comparingLong(ExtentRun::offset);

    private final String node;
    private final ExtentTable table;
    private final long base;
    private final long dataOffset;
    private final long arenaBytes;
    private final List<ExtentRun> allocated = new ArrayList<>();
    private final List<ExtentRun> pages = new ArrayList<>();
    private final List<ExtentRun> freed = new ArrayList<>();
    private final List<ExtentRun> unclean = new ArrayList<>();

    /**
     * Recovers.
     *
     * @throws ArenaException if two allocated extents overlap
     */
    Recovery(NodeArena arena, String node) {
        this.node = node;
        this.table = arena.table();
        this.base = arena.address();
        this.dataOffset = arena.dataOffset();
        this.arenaBytes = arena.size();
        collect();
        sortAndCheck();
        for (ExtentRun run : freed) {
            if (overlapsAnother(run)) {
                zeroUncovered(run);
                table.clear(run.entry());
            } else {
                unclean.add(run);
            }
        }
    }

    /** The allocated extents, with the pages of words. */
    List<ExtentRun> allocated() {
        return allocated;
    }

    /** The pages that have words. */
    List<ExtentRun> pages() {
        return pages;
    }

    /** The free extents that are not clean; they overlap no others. */
    List<ExtentRun> unclean() {
        return unclean;
    }

    /** Adds the memory without an entry, which is free and clean. */
    void addGapsTo(FreeRuns clean) {
        List<ExtentRun> taken = new ArrayList<>(allocated);
        taken.addAll(unclean);
        taken.sort(BY_OFFSET);
        long at = dataOffset;
        for (ExtentRun run : taken) {
            clean.add(at, run.offset() - at);
            at = run.offset() + run.length();
        }
        clean.add(at, arenaBytes - at);
    }

    private void collect() {
        for (int entry = 0; entry < table.capacity(); entry++) {
            ExtentRun run = new ExtentRun(table.offset(entry), table.length(entry), entry);
            switch (table.state(entry)) {
                case EMPTY -> {}
                case ALLOCATED -> collectAllocated(table.lmrId(entry), run);
                case UNCLEAN -> freed.add(run);
            }
        }
    }

    private void collectAllocated(long lmrId, ExtentRun run) {
        boolean isPage = lmrId == WordPages.OWNER;
        if (lmrId == ArenaAllocator.INTERNAL_LMR || (isPage && WordPages.isUnused(base, run))) {
            // It served the former process, or that process was adding or freeing the page.
            table.put(run.entry(), ExtentTable.State.UNCLEAN, lmrId, run.offset(), run.length());
            freed.add(run);
            return;
        }
        allocated.add(run);
        if (isPage) {
            pages.add(run);
        }
    }

    private void sortAndCheck() {
        allocated.sort(BY_OFFSET);
        freed.sort(BY_OFFSET);
        long end = dataOffset;
        for (ExtentRun extent : allocated) {
            if (extent.offset() < end) {
                throw new ArenaException(
                        "the arena of node %s has two LMRs at offset %d (entry %d of its extent table). Its content is corrupt; delete the file to start with an empty arena"
                                .formatted(node, extent.offset(), extent.entry()),
                        null);
            }
            end = extent.offset() + extent.length();
        }
    }

    /** True only for entries that the former process was splitting or cleaning when it stopped. */
    private boolean overlapsAnother(ExtentRun run) {
        return overlaps(allocated, run) || overlaps(freed, run);
    }

    private static boolean overlaps(List<ExtentRun> sorted, ExtentRun run) {
        for (ExtentRun other : sorted.subList(firstEndingAfter(sorted, run.offset()), sorted.size())) {
            if (other.offset() >= run.offset() + run.length()) {
                return false;
            }
            if (other.entry() != run.entry()) {
                return true;
            }
        }
        return false;
    }

    /**
     * The first run that may reach beyond the offset. Overlaps make the binary search inexact, so it steps back.
     */
    private static int firstEndingAfter(List<ExtentRun> sorted, long offset) {
        int low = 0;
        int high = sorted.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (sorted.get(middle).offset() < offset) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        // A split entry overlaps at most the two parts that it became: three steps back cover them all.
        return Math.max(0, low - 3);
    }

    private void zeroUncovered(ExtentRun run) {
        long at = run.offset();
        long end = run.offset() + run.length();
        for (ExtentRun extent : allocated.subList(firstEndingAfter(allocated, at), allocated.size())) {
            if (extent.offset() >= end) {
                break;
            }
            if (extent.offset() > at) {
                RawMemory.fill(base + at, extent.offset() - at, (byte) 0);
            }
            at = Math.max(at, extent.offset() + extent.length());
        }
        if (at < end) {
            RawMemory.fill(base + at, end - at, (byte) 0);
        }
    }
}
