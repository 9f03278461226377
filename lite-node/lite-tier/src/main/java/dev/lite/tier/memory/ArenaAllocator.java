package dev.lite.tier.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.RawMemory;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Allocates and frees the data of an arena. Allocated memory is always clean (all zero). Best fit; offsets are
 * multiples of 64 bytes, and of 4096 bytes for chunks of 4096 bytes or more.
 *
 * <p>The {@link ExtentTable} in the arena is the source of truth; every start rebuilds this object from it. Freed
 * memory stays {@code UNCLEAN} until {@link #clean} zeroes it. An allocation prefers clean memory; otherwise it zeroes
 * only what it takes.
 *
 * <p>Any thread. A thread takes an unclean run out of the set under the lock, and zeroes it outside the lock.
 */
public final class ArenaAllocator {
    /** The LMR id of extents that serve the process itself. The next process to adopt the arena frees them. */
    public static final long INTERNAL_LMR = 0;

    private static final long GRANULE_BYTES = 64;

    private static final long PAGE_BYTES = 4096;

    /** The maximum that one step zeroes, so that a step ends soon. */
    private static final long CLEAN_STEP_BYTES = 16 << 20;

    /** How many extents one hold of the lock scans: some microseconds. */
    private static final int VISIT_STEP = 512;

    /** Entries that a split needs: the rest before the extent, the rest after it, and the extent itself. */
    private static final int SPLIT_ENTRIES = 3;

    /** Freed bytes that are not clean yet, and their entry in the table. */
    private record Unclean(long offset, long length, int entry) {}

    private static final Comparator<Unclean> BY_LENGTH =
            Comparator.comparingLong(Unclean::length).thenComparingLong(Unclean::offset);

    private final String node;
    private final long base;
    private final long dataBytes;
    private final ExtentTable table;

    @GuardedBy("this")
    private final FreeRuns clean = new FreeRuns();

    @GuardedBy("this")
    private final TreeSet<Unclean> unclean = new TreeSet<>(BY_LENGTH);

    @GuardedBy("this")
    private final BitSet usedEntries = new BitSet();

    @GuardedBy("this")
    private int usedEntryCount;

    @GuardedBy("this")
    private int reservedEntries; // for splits in progress

    @GuardedBy("this")
    private int entryHint; // every entry below is used

    @GuardedBy("this")
    private long uncleanBytes;

    @GuardedBy("this")
    private int cleaning; // runs that threads are zeroing now

    @GuardedBy("this")
    private int cleanings; // how many runs threads have zeroed

    @GuardedBy("this")
    private long allocatedBytes;

    @GuardedBy("this")
    private int allocatedExtents;

    @GuardedBy("this")
    private boolean closed;

    /**
     * Rebuilds the free lists and counters from the arena.
     *
     * @throws ArenaException if two allocated extents overlap
     */
    public ArenaAllocator(NodeArena arena, String node) {
        this.node = node;
        this.base = arena.address();
        this.table = arena.table();
        this.dataBytes = arena.size() - arena.dataOffset();
        new Recovery(arena.dataOffset(), arena.size()).run();
    }

    /**
     * Allocates {@code count} chunks for one LMR, in as few runs as possible.
     *
     * @param chunkBytes the length of a chunk, rounded up to the alignment above
     * @param runsMax the maximum number of runs
     * @return at least one run; fewer than {@code count} chunks only if {@code runsMax} runs do not hold them
     * @throws LimitExceededException if there is too little free memory or the extent table is full; nothing is taken
     *     then
     * @throws NodeUnreachableException after {@link #close}
     */
    public List<ExtentRun> allocate(long lmrId, long chunkBytes, long count, int runsMax) {
        long unit = bytesOfChunk(chunkBytes);
        List<ExtentRun> runs = new ArrayList<>();
        long missing = count;
        try {
            while (missing > 0 && runs.size() < runsMax) {
                ExtentRun run = allocateRun(lmrId, unit, missing);
                runs.add(run);
                missing -= run.length() / unit;
            }
            return runs;
        } catch (RuntimeException | Error e) {
            runs.forEach(run -> free(lmrId, run));
            throw e;
        }
    }

    /** The bytes that a chunk takes: its length, rounded up to the alignment above. */
    public static long bytesOfChunk(long chunkBytes) {
        return Math.ceilDiv(chunkBytes, alignment(chunkBytes)) * alignment(chunkBytes);
    }

    private ExtentRun allocateRun(long lmrId, long unit, long units) {
        while (true) {
            Unclean dirty;
            long taken;
            synchronized (this) {
                checkSpace(unit, units);
                FreeRuns.Run run = clean.take(unit, units, alignment(unit));
                if (run != null) {
                    return commit(lmrId, run.offset(), run.length());
                }
                dirty = takeUnclean(unit, units);
                if (dirty == null) {
                    waitForCleaner(unit);
                    continue;
                }
                taken = Math.min(units, usable(dirty, unit) / unit) * unit;
            }
            if (taken > 0) {
                long offset = dirty.offset() + padding(dirty.offset(), unit);
                RawMemory.fill(base + offset, taken, (byte) 0);
                return splitUnclean(lmrId, dirty, offset, taken);
            }
            // Too short alone: once it is clean, it merges with its neighbours.
            RawMemory.fill(base + dirty.offset(), dirty.length(), (byte) 0);
            becameClean(dirty, dirty.length(), SPLIT_ENTRIES);
        }
    }

    @GuardedBy("this")
    private void checkSpace(long unit, long units) {
        assert Thread.holdsLock(this);
        if (closed) {
            throw new NodeUnreachableException("node %s is stopping".formatted(node));
        }
        long free = clean.total() + uncleanBytes;
        if (units > free / unit && cleaning == 0) {
            throw new LimitExceededException("node %s has %d bytes free of %d; the request needs %d"
                    .formatted(node, free, dataBytes, saturatedProduct(unit, units)));
        }
        if (usedEntryCount + reservedEntries + SPLIT_ENTRIES > table.capacity()) {
            throw new LimitExceededException(
                    "node %s has %d extents in use or awaiting cleaning; the limit of its arena is %d (lite.node.arena.extents)"
                            .formatted(node, usedEntryCount, table.capacity()));
        }
    }

    /** Takes the shortest unclean run that holds all units, or else the longest run; null if there is none. */
    @GuardedBy("this")
    private @Nullable Unclean takeUnclean(long unit, long units) {
        assert Thread.holdsLock(this);
        if (unclean.isEmpty()) {
            return null;
        }
        Unclean fit = unclean.ceiling(new Unclean(0, unit * units, 0));
        Unclean taken = fit != null ? fit : unclean.last();
        unclean.remove(taken);
        uncleanBytes -= taken.length();
        cleaning++;
        reservedEntries += SPLIT_ENTRIES;
        return taken;
    }

    @GuardedBy("this")
    private void waitForCleaner(long unit) {
        assert Thread.holdsLock(this);
        if (cleaning == 0) {
            throw new LimitExceededException(
                    "node %s has %d bytes free, but its longest free run has %d; the request needs a run of %d"
                            .formatted(node, clean.total(), clean.longest(), unit));
        }
        try {
            int before = cleanings;
            while (cleanings == before) {
                wait(); // a run is zeroed in milliseconds, and its thread notifies
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LimitExceededException(
                    "interrupted while waiting for clean memory of node %s".formatted(node), e);
        }
    }

    private synchronized ExtentRun splitUnclean(long lmrId, Unclean dirty, long offset, long length) {
        reservedEntries -= SPLIT_ENTRIES;
        // Store the rests, then the new extent, then clear the old entry: some entry covers each byte at all times.
        putUnclean(dirty.offset(), offset - dirty.offset());
        putUnclean(offset + length, dirty.offset() + dirty.length() - offset - length);
        ExtentRun run = commit(lmrId, offset, length);
        releaseEntry(dirty.entry());
        cleaning--;
        cleanings++;
        notifyAll();
        return run;
    }

    @GuardedBy("this")
    private void putUnclean(long offset, long length) {
        assert Thread.holdsLock(this);
        if (length == 0) {
            return;
        }
        int entry = takeEntry();
        table.put(entry, ExtentTable.State.UNCLEAN, 0, offset, length);
        unclean.add(new Unclean(offset, length, entry));
        uncleanBytes += length;
    }

    @GuardedBy("this")
    private ExtentRun commit(long lmrId, long offset, long length) {
        assert Thread.holdsLock(this);
        int entry = takeEntry();
        table.put(entry, ExtentTable.State.ALLOCATED, lmrId, offset, length);
        allocatedBytes += length;
        allocatedExtents++;
        return new ExtentRun(offset, length, table.name(entry));
    }

    @GuardedBy("this")
    private int takeEntry() {
        assert Thread.holdsLock(this);
        int entry = usedEntries.nextClearBit(entryHint);
        markUsed(entry);
        entryHint = entry + 1;
        return entry;
    }

    @GuardedBy("this")
    private void markUsed(int entry) {
        usedEntries.set(entry);
        usedEntryCount++;
    }

    @GuardedBy("this")
    private void releaseEntry(int entry) {
        assert Thread.holdsLock(this);
        table.clear(entry);
        usedEntries.clear(entry);
        usedEntryCount--;
        entryHint = Math.min(entryHint, entry);
    }

    /** Whether this LMR has this extent here. Does not check the length. */
    public synchronized boolean holds(long lmrId, ExtentRun run) {
        if (closed) {
            return false;
        }
        int entry = table.entryOf(run.entry());
        return entry >= 0
                && table.state(entry) == ExtentTable.State.ALLOCATED
                && table.lmrId(entry) == lmrId
                && table.offset(entry) == run.offset();
    }

    /**
     * Frees an extent. The caller follows the reclamation rule: nobody may touch the extent any more.
     *
     * @return false if this LMR has no such extent here now. Freeing again is harmless, however late: the next extent at
     *     the same entry has another name
     */
    public synchronized boolean free(long lmrId, ExtentRun run) {
        if (!holds(lmrId, run)) {
            return false;
        }
        int entry = table.entryOf(run.entry());
        long length = table.length(entry);
        // Keep the LMR's id: a valid entry may change only with its last store.
        table.put(entry, ExtentTable.State.UNCLEAN, lmrId, run.offset(), length);
        unclean.add(new Unclean(run.offset(), length, entry));
        uncleanBytes += length;
        allocatedBytes -= length;
        allocatedExtents--;
        notifyAll();
        return true;
    }

    /**
     * Zeroes a part of the freed memory. The background cleaner calls it until it returns 0.
     *
     * @return how many bytes it cleaned
     */
    public long clean() {
        Unclean dirty;
        long length;
        synchronized (this) {
            if (unclean.isEmpty() || closed) {
                return 0;
            }
            dirty = unclean.first();
            boolean split = dirty.length() > CLEAN_STEP_BYTES && usedEntryCount + reservedEntries < table.capacity();
            unclean.remove(dirty);
            uncleanBytes -= dirty.length();
            length = split ? CLEAN_STEP_BYTES : dirty.length();
            putUnclean(dirty.offset() + length, dirty.length() - length);
            cleaning++;
        }
        RawMemory.fill(base + dirty.offset(), length, (byte) 0);
        becameClean(dirty, length, 0);
        return length;
    }

    private synchronized void becameClean(Unclean dirty, long length, int reserved) {
        reservedEntries -= reserved;
        releaseEntry(dirty.entry());
        clean.add(dirty.offset(), length);
        cleaning--;
        cleanings++;
        notifyAll();
    }

    /** Waits for freed memory. For the background cleaner; an interrupt ends the wait. */
    public synchronized void awaitFreed() throws InterruptedException {
        while (unclean.isEmpty()) {
            wait();
        }
    }

    /** Ends the use of the arena: waits for the threads that zero memory. After the return nothing here touches it. */
    public synchronized void close() {
        closed = true;
        boolean interrupted = false;
        while (cleaning > 0) {
            try {
                wait(); // a run is zeroed in milliseconds, and its thread notifies
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Bytes that can hold LMRs. */
    public long dataBytes() {
        return dataBytes;
    }

    /** Whether the extent with this name in the table belongs to this LMR and holds the whole range. */
    public synchronized boolean holds(long lmrId, int name, long offset, long length) {
        int entry = closed ? -1 : table.entryOf(name);
        if (entry < 0 || table.state(entry) != ExtentTable.State.ALLOCATED) {
            return false;
        }
        long at = offset - table.offset(entry);
        return table.lmrId(entry) == lmrId && at >= 0 && length >= 0 && length <= table.length(entry) - at;
    }

    /** Bytes that belong to LMRs. */
    public synchronized long allocatedBytes() {
        return allocatedBytes;
    }

    /** Receives extents. */
    public interface ExtentVisitor {
        /** Receives an extent of an LMR. */
        void extent(long lmrId, ExtentRun run);
    }

    /**
     * Passes the extents of LMRs to the visitor, without those that serve this process. It may miss or include an
     * extent that is allocated or freed during the call. Locks for a part of the table at a time, never while the
     * visitor runs.
     */
    public void forEachExtent(ExtentVisitor visitor) {
        List<ExtentRun> runs = new ArrayList<>(VISIT_STEP);
        List<Long> ids = new ArrayList<>(VISIT_STEP);
        for (int entry = 0; entry >= 0; ) {
            runs.clear();
            ids.clear();
            entry = copyExtents(entry, runs, ids);
            for (int index = 0; index < runs.size(); index++) {
                visitor.extent(ids.get(index), runs.get(index));
            }
        }
    }

    /** Copies some extents; returns the entry to continue at, negative after the last one. */
    private synchronized int copyExtents(int from, List<ExtentRun> runs, List<Long> ids) {
        int entry = closed ? -1 : usedEntries.nextSetBit(from);
        for (int seen = 0; entry >= 0 && seen < VISIT_STEP; seen++) {
            if (table.state(entry) == ExtentTable.State.ALLOCATED && table.lmrId(entry) != INTERNAL_LMR) {
                runs.add(new ExtentRun(table.offset(entry), table.length(entry), table.name(entry)));
                ids.add(table.lmrId(entry));
            }
            entry = usedEntries.nextSetBit(entry + 1);
        }
        return entry;
    }

    /** Extents that belong to LMRs. */
    public synchronized int allocatedExtents() {
        return allocatedExtents;
    }

    /** Free bytes, clean or not. */
    public synchronized long freeBytes() {
        return dataBytes - allocatedBytes;
    }

    /** Free bytes that are not clean yet. */
    public synchronized long uncleanBytes() {
        return uncleanBytes;
    }

    private static long alignment(long unit) {
        return unit >= PAGE_BYTES ? PAGE_BYTES : GRANULE_BYTES;
    }

    private static long padding(long offset, long unit) {
        return -offset & (alignment(unit) - 1);
    }

    private static long usable(Unclean run, long unit) {
        return Math.max(0, run.length() - padding(run.offset(), unit));
    }

    private static long saturatedProduct(long a, long b) {
        return b != 0 && a > Long.MAX_VALUE / b ? Long.MAX_VALUE : a * b;
    }

    /** Rebuilds the free lists and counters from the table, at whatever instant the last process stopped. */
    private final class Recovery {
        private final long dataOffset;
        private final long arenaBytes;
        private final List<Unclean> allocated = new ArrayList<>();
        private final List<Unclean> freed = new ArrayList<>();

        Recovery(long dataOffset, long arenaBytes) {
            this.dataOffset = dataOffset;
            this.arenaBytes = arenaBytes;
        }

        void run() {
            synchronized (ArenaAllocator.this) {
                collect();
                sortAndCheck();
                for (Unclean run : freed) {
                    if (overlapsAnother(run)) {
                        zeroUncovered(run);
                        table.clear(run.entry());
                    } else {
                        markUsed(run.entry());
                        unclean.add(run);
                        uncleanBytes += run.length();
                    }
                }
                addGaps();
            }
        }

        @GuardedBy("ArenaAllocator.this")
        private void collect() {
            for (int entry = 0; entry < table.capacity(); entry++) {
                switch (table.state(entry)) {
                    case EMPTY -> {}
                    case ALLOCATED -> {
                        if (table.lmrId(entry) == INTERNAL_LMR) {
                            // It served the former process.
                            table.put(entry, ExtentTable.State.UNCLEAN, 0, table.offset(entry), table.length(entry));
                            freed.add(new Unclean(table.offset(entry), table.length(entry), entry));
                            continue;
                        }
                        allocated.add(new Unclean(table.offset(entry), table.length(entry), entry));
                        markUsed(entry);
                    }
                    case UNCLEAN -> freed.add(new Unclean(table.offset(entry), table.length(entry), entry));
                }
            }
        }

        @GuardedBy("ArenaAllocator.this")
        private void sortAndCheck() {
            allocated.sort(Comparator.comparingLong(Unclean::offset));
            freed.sort(Comparator.comparingLong(Unclean::offset));
            long end = dataOffset;
            for (Unclean extent : allocated) {
                if (extent.offset() < end) {
                    throw new ArenaException(
                            "the arena of node %s has two LMRs at offset %d (entry %d of its extent table). Its content is corrupt; delete the file to start with an empty arena"
                                    .formatted(node, extent.offset(), extent.entry()),
                            null);
                }
                end = extent.offset() + extent.length();
                allocatedBytes += extent.length();
                allocatedExtents++;
            }
        }

        /** True only for entries that the former process was splitting or cleaning when it stopped. */
        private boolean overlapsAnother(Unclean run) {
            return overlaps(allocated, run) || overlaps(freed, run);
        }

        private static boolean overlaps(List<Unclean> sorted, Unclean run) {
            for (Unclean other : sorted.subList(firstEndingAfter(sorted, run.offset()), sorted.size())) {
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
        private static int firstEndingAfter(List<Unclean> sorted, long offset) {
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

        private void zeroUncovered(Unclean run) {
            long at = run.offset();
            long end = run.offset() + run.length();
            for (Unclean extent : allocated.subList(firstEndingAfter(allocated, at), allocated.size())) {
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

        @GuardedBy("ArenaAllocator.this")
        private void addGaps() {
            List<Unclean> taken = new ArrayList<>(allocated);
            taken.addAll(unclean);
            taken.sort(Comparator.comparingLong(Unclean::offset));
            long at = dataOffset;
            for (Unclean run : taken) {
                clean.add(at, run.offset() - at);
                at = run.offset() + run.length();
            }
            clean.add(at, arenaBytes - at);
        }
    }
}
