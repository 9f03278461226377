package dev.lite.tier.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.RawMemory;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Allocates and frees the data of an arena. Allocated memory is always clean (all zero). Best fit; offsets are
 * multiples of 64 bytes, and of 4096 bytes for chunks of 4096 bytes or more.
 *
 * <p>The {@link ExtentTable} in the arena is the source of truth; every start rebuilds this object from it. Freed
 * memory stays {@code UNCLEAN} until {@link #clean} zeroes it. An allocation prefers clean memory; otherwise it zeroes
 * only what it takes. The words of locks and barriers share extents ({@link WordPages}); everybody else sees a word like
 * an extent of its LMR.
 *
 * <p>Any thread. A thread takes an unclean run out of the set under the lock, and zeroes it outside the lock.
 */
public final class ArenaAllocator {
    /** The LMR id of extents that serve the process itself. The next process to adopt the arena frees them. */
    public static final long INTERNAL_LMR = 0;

    /** The length of a word of a lock or a barrier. */
    public static final long WORD_BYTES = WordPages.WORD_BYTES;

    private static final long GRANULE_BYTES = 64;

    private static final long PAGE_BYTES = 4096;

    /** The maximum that one step zeroes, so that a step ends soon. */
    private static final long CLEAN_STEP_BYTES = 16 << 20;

    /** Allocations that zero more than {@value #SHORT_BYTES} bytes take turns after so many: less than a millisecond. */
    private static final long TURN_BYTES = 4 << 20;

    private static final long SHORT_BYTES = 64 << 10;

    /** How many extents and words one hold of the lock scans, up to the end of a page of words: some ten microseconds. */
    private static final int VISIT_STEP = 512;

    /** Entries that a split needs: the rest before the extent, the rest after it, and the extent itself. */
    private static final int SPLIT_ENTRIES = 3;

    /** Of runs that are freed but not clean yet; these have the index of their entry instead of its name. */
    private static final Comparator<ExtentRun> BY_LENGTH =
            Comparator.comparingLong(ExtentRun::length).thenComparingLong(ExtentRun::offset);

    private final String node;
    private final long base;
    private final long dataBytes;
    private final ExtentTable table;

    /** All processors but one zero memory for allocations, so that allocating all the time leaves others one. */
    private final Semaphore turns =
            new Semaphore(Math.max(1, Runtime.getRuntime().availableProcessors() - 1), true);

    @GuardedBy("this")
    private final FreeRuns clean = new FreeRuns();

    @GuardedBy("this")
    private final TreeSet<ExtentRun> unclean = new TreeSet<>(BY_LENGTH);

    @GuardedBy("this")
    private final WordPages words;

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
    private long cleaningBytes; // of these runs, what will be free again

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
        this.words = new WordPages(base);
        restore(new Recovery(arena, node));
    }

    private synchronized void restore(Recovery found) {
        for (ExtentRun run : found.allocated()) {
            markUsed(run.entry());
            allocatedBytes += run.length();
            allocatedExtents++;
        }
        for (ExtentRun run : found.unclean()) {
            markUsed(run.entry());
            unclean.add(run);
            uncleanBytes += run.length();
        }
        for (ExtentRun page : found.pages()) {
            words.add(new ExtentRun(page.offset(), page.length(), table.name(page.entry())));
        }
        found.addGapsTo(clean);
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
            ExtentRun dirty;
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
                cleaningBytes += dirty.length() - taken;
            }
            if (taken > 0) {
                long offset = dirty.offset() + padding(dirty.offset(), unit);
                zero(offset, taken);
                return splitUnclean(lmrId, dirty, offset, taken);
            }
            // Too short alone: once it is clean, it merges with its neighbours.
            zero(dirty.offset(), dirty.length());
            becameClean(dirty, dirty.length(), SPLIT_ENTRIES);
        }
    }

    /** Zeroes memory that an allocation takes. */
    private void zero(long offset, long length) {
        if (length <= SHORT_BYTES) {
            RawMemory.fill(base + offset, length, (byte) 0);
            return;
        }
        for (long done = 0; done < length; done += TURN_BYTES) {
            turns.acquireUninterruptibly();
            try {
                RawMemory.fill(base + offset + done, Math.min(length - done, TURN_BYTES), (byte) 0);
            } finally {
                turns.release();
            }
        }
    }

    @GuardedBy("this")
    private void requireOpen() {
        assert Thread.holdsLock(this);
        if (closed) {
            throw new NodeUnreachableException("node %s is stopping".formatted(node));
        }
    }

    @GuardedBy("this")
    private void checkSpace(long unit, long units) {
        assert Thread.holdsLock(this);
        requireOpen();
        long free = clean.total() + uncleanBytes + cleaningBytes;
        if (units > free / unit) {
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
    private @Nullable ExtentRun takeUnclean(long unit, long units) {
        assert Thread.holdsLock(this);
        if (unclean.isEmpty()) {
            return null;
        }
        ExtentRun fit = unclean.ceiling(new ExtentRun(0, unit * units, 0));
        ExtentRun taken = fit != null ? fit : unclean.last();
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

    private synchronized ExtentRun splitUnclean(long lmrId, ExtentRun dirty, long offset, long length) {
        reservedEntries -= SPLIT_ENTRIES;
        // Store the rests, then the new extent, then clear the old entry: some entry covers each byte at all times.
        cleaningBytes -= dirty.length() - length;
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
        unclean.add(new ExtentRun(offset, length, entry));
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

    /**
     * Allocates a word of a lock or a barrier for an LMR: {@link #WORD_BYTES} bytes, zero, in a cache line of their own.
     * Many words share an extent.
     *
     * @return the word's place; its entry is that of the shared extent
     * @throws LimitExceededException if no extent has room for it, and there is too little free memory or the extent
     *     table is full
     * @throws NodeUnreachableException after {@link #close}
     */
    public ExtentRun allocateWord(long lmrId) {
        synchronized (this) {
            requireOpen();
            ExtentRun word = words.take(lmrId);
            if (word != null) {
                return word;
            }
        }
        ExtentRun page = allocatePage();
        synchronized (this) {
            requireOpen(); // if not, the next start frees the page, since it has no word
            ExtentRun word = words.take(lmrId); // another thread may have added a page at the same time
            if (word != null) {
                freeExtent(WordPages.OWNER, page);
                return word;
            }
            words.add(page);
            return Objects.requireNonNull(words.take(lmrId), "a new page has room for every LMR");
        }
    }

    /** Allocates a page of words: a shorter one if the arena has no free run of the whole length. */
    private ExtentRun allocatePage() {
        for (long bytes = WordPages.PAGE_BYTES; ; bytes /= 2) {
            try {
                return allocate(WordPages.OWNER, bytes, 1, 1).getFirst();
            } catch (LimitExceededException e) {
                if (bytes <= WordPages.SLOT_BYTES) {
                    throw e;
                }
            }
        }
    }

    @GuardedBy("this")
    private void freeSparePage() {
        assert Thread.holdsLock(this);
        ExtentRun spare = words.removeSpare();
        if (spare != null) {
            freeExtent(WordPages.OWNER, spare);
        }
    }

    /** Whether this LMR has this extent or word here. Does not check the length. */
    public synchronized boolean holds(long lmrId, ExtentRun run) {
        return !closed
                && (words.holds(lmrId, run.entry(), run.offset())
                        || (isExtentOf(lmrId, run.entry())
                                && table.offset(table.entryOf(run.entry())) == run.offset()));
    }

    @GuardedBy("this")
    private boolean isExtentOf(long lmrId, int name) {
        assert Thread.holdsLock(this);
        int entry = table.entryOf(name);
        return lmrId != WordPages.OWNER // a page goes only when it has no word
                && entry >= 0
                && table.state(entry) == ExtentTable.State.ALLOCATED
                && table.lmrId(entry) == lmrId;
    }

    /**
     * Frees an extent or a word. The caller follows the reclamation rule: nobody may touch the extent any more.
     *
     * @return false if this LMR has no such extent or word here now. Freeing again is harmless, however late: the next
     *     extent at the same entry has another name
     */
    public synchronized boolean free(long lmrId, ExtentRun run) {
        if (!holds(lmrId, run)) {
            return false;
        }
        if (words.free(lmrId, run.entry(), run.offset())) {
            freeSparePage();
        } else {
            freeExtent(lmrId, run);
        }
        return true;
    }

    @GuardedBy("this")
    private void freeExtent(long lmrId, ExtentRun run) {
        assert Thread.holdsLock(this);
        int entry = table.entryOf(run.entry());
        long length = table.length(entry);
        // Keep the LMR's id: a valid entry may change only with its last store.
        table.put(entry, ExtentTable.State.UNCLEAN, lmrId, run.offset(), length);
        unclean.add(new ExtentRun(run.offset(), length, entry));
        uncleanBytes += length;
        allocatedBytes -= length;
        allocatedExtents--;
        notifyAll();
    }

    /**
     * Zeroes a part of the freed memory. The background cleaner calls it until it returns 0.
     *
     * @return how many bytes it cleaned
     */
    public long clean() {
        ExtentRun dirty;
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
            cleaningBytes += length;
        }
        RawMemory.fill(base + dirty.offset(), length, (byte) 0);
        becameClean(dirty, length, 0);
        return length;
    }

    private synchronized void becameClean(ExtentRun dirty, long length, int reserved) {
        reservedEntries -= reserved;
        releaseEntry(dirty.entry());
        clean.add(dirty.offset(), length);
        cleaning--;
        cleaningBytes -= length;
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

    /** Whether the extent with this name in the table, or a word in it, belongs to this LMR and holds the whole range. */
    public synchronized boolean holds(long lmrId, int name, long offset, long length) {
        if (closed) {
            return false;
        }
        if (words.holds(lmrId, name, offset)) {
            return length >= 0 && length <= WORD_BYTES;
        }
        if (!isExtentOf(lmrId, name)) {
            return false;
        }
        int entry = table.entryOf(name);
        long at = offset - table.offset(entry);
        return at >= 0 && length >= 0 && length <= table.length(entry) - at;
    }

    /** Bytes that belong to LMRs, with the free slots of pages of words. */
    public synchronized long allocatedBytes() {
        return allocatedBytes;
    }

    /** Receives extents and words. */
    public interface ExtentVisitor {
        /** Receives an extent or a word of an LMR. */
        void extent(long lmrId, ExtentRun run);
    }

    /**
     * Passes the extents and words of LMRs to the visitor, without extents that serve this process. It may miss or
     * include one that is allocated or freed during the call. Locks for a part of the table at a time, never while the
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
        for (int seen = 0; entry >= 0 && seen + runs.size() < VISIT_STEP; seen++) {
            long lmrId = table.lmrId(entry);
            if (table.state(entry) == ExtentTable.State.ALLOCATED && lmrId == WordPages.OWNER) {
                words.copyWords(table.name(entry), runs, ids);
            } else if (table.state(entry) == ExtentTable.State.ALLOCATED && lmrId != INTERNAL_LMR) {
                runs.add(new ExtentRun(table.offset(entry), table.length(entry), table.name(entry)));
                ids.add(lmrId);
            }
            entry = usedEntries.nextSetBit(entry + 1);
        }
        return entry;
    }

    /** Extents that belong to LMRs, and pages of words. */
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

    private static long usable(ExtentRun run, long unit) {
        return Math.max(0, run.length() - padding(run.offset(), unit));
    }

    private static long saturatedProduct(long a, long b) {
        return b != 0 && a > Long.MAX_VALUE / b ? Long.MAX_VALUE : a * b;
    }
}
