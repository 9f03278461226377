package dev.lite.tier.session;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrFreedException;
import dev.lite.tier.TierHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A session's handles by number: {@code lh = generation << 32 | index}. An index is used again, with its next generation; an
 * index whose generations are used up is not: so no number ever means two handles, and a stale one is always found out.
 *
 * <p>Any thread. Looking up takes no lock and allocates nothing; changes take the lock.
 */
final class HandleTable {
    /** Upper limit of the upper limit: an index has 31 bits, and tables stay well below. */
    static final int HANDLES_MAX = 1 << 24;

    private static final int GENERATION_MAX = Integer.MAX_VALUE;
    private static final int INITIAL_CAPACITY = 64;
    private static final VarHandle ENTRIES = MethodHandles.arrayElementVarHandle(Entry[].class);

    /** A number and what it stands for; immutable, so that the two are always seen together. */
    private record Entry(long lh, TierHandle handle) {}

    private final int handlesMax;
    /** Replaced by a larger copy when it is full; elements change by release and are read by acquire. */
    private volatile @Nullable Entry[] entries = new @Nullable Entry[INITIAL_CAPACITY];

    private int[] generations = new int[INITIAL_CAPACITY];
    private int indexesUsed;
    private int taken;
    /** In the order in which they became free, so that an index rests as long as possible. */
    private final ArrayDeque<Integer> freeIndexes = new ArrayDeque<>();

    HandleTable(int handlesMax) {
        this.handlesMax = handlesMax;
    }

    /**
     * Takes a number before there is a handle for it, so that nothing has been made when there is no room.
     *
     * @throws LimitExceededException when the session has as many handles as it may
     */
    synchronized long reserve() {
        if (taken >= handlesMax) {
            throw new LimitExceededException(
                    "this session has %d handles; the limit is %d: unmap some".formatted(taken, handlesMax));
        }
        Integer free = freeIndexes.poll();
        int index = free != null ? free : newIndex();
        taken++;
        return ((long) ++generations[index] << Integer.SIZE) | index;
    }

    private int newIndex() {
        if (indexesUsed == generations.length) {
            int capacity = 2 * indexesUsed;
            generations = Arrays.copyOf(generations, capacity);
            entries = Arrays.copyOf(entries, capacity);
        }
        return indexesUsed++;
    }

    /** Gives a reserved number its handle. */
    synchronized void put(long lh, TierHandle handle) {
        ENTRIES.setRelease(entries, (int) lh, new Entry(lh, handle));
    }

    /** Gives a reserved number back that got no handle. */
    synchronized void cancel(long lh) {
        recycle((int) lh);
    }

    /** The handle of this number, or null when it is stale or was never given out. */
    @Nullable
    TierHandle find(long lh) {
        int index = (int) lh;
        @Nullable Entry[] now = entries;
        if (index < 0 || index >= now.length) {
            return null;
        }
        Entry entry = (Entry) ENTRIES.getAcquire(now, index);
        return entry != null && entry.lh == lh ? entry.handle : null;
    }

    /**
     * The handle of this number.
     *
     * @throws LmrFreedException when it is stale or was never given out
     */
    TierHandle get(long lh) {
        TierHandle handle = find(lh);
        if (handle == null) {
            throw stale(lh);
        }
        return handle;
    }

    /** Takes the handle out; of two callers one gets it, the other the exception of {@link #get}. */
    synchronized TierHandle remove(long lh) {
        TierHandle handle = get(lh);
        ENTRIES.setRelease(entries, (int) lh, null);
        recycle((int) lh);
        return handle;
    }

    private void recycle(int index) {
        taken--;
        if (generations[index] < GENERATION_MAX) {
            freeIndexes.add(index);
        }
    }

    /** How many numbers are taken. */
    synchronized int size() {
        return taken;
    }

    /** For tests: as if the index had been used so often. */
    synchronized void setGeneration(int index, int generation) {
        generations[index] = generation;
    }

    static LmrFreedException stale(long lh) {
        return new LmrFreedException(staleText(lh));
    }

    static String staleText(long lh) {
        return "handle 0x%x is stale: it was unmapped or freed, or is not of this session".formatted(lh);
    }
}
