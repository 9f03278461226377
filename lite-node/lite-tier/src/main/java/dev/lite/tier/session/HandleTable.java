package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.Priority;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.tier.TierHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A session's handles by number: {@code lh = generation << 32 | index}. An index is reused with its next generation,
 * and never again after its last one. So no number ever stands for two handles, and every stale number is detected.
 *
 * <p>Any thread. A lookup takes no lock and allocates nothing; changes take the lock.
 */
final class HandleTable {
    /** The largest limit that can be configured; an index has 31 bits. */
    static final int HANDLES_MAX = 1 << 24;

    private static final int GENERATION_MAX = Integer.MAX_VALUE;
    private static final int INITIAL_CAPACITY = 64;
    private static final VarHandle ENTRIES = MethodHandles.arrayElementVarHandle(Entry[].class);

    /** A number and its handle; immutable, so a lookup sees both or neither. */
    private record Entry(long lh, TierHandle handle) {}

    private final int handlesMax;
    /** Replaced by a larger copy when it is full; elements change by release and are read by acquire. */
    private volatile @Nullable Entry[] entries = new @Nullable Entry[INITIAL_CAPACITY];

    @GuardedBy("this")
    private int[] generations = new int[INITIAL_CAPACITY];

    @GuardedBy("this")
    private int indexesUsed;

    @GuardedBy("this")
    private int taken;

    /** Free indexes, oldest first, so that an index is reused as late as possible. */
    @GuardedBy("this")
    private final ArrayDeque<Integer> freeIndexes = new ArrayDeque<>();

    HandleTable(int handlesMax) {
        this.handlesMax = handlesMax;
    }

    /**
     * Reserves a number before its handle exists, so that nothing has to be undone at the limit.
     *
     * @throws LimitExceededException when the session has reached its limit of handles
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

    @GuardedBy("this")
    private int newIndex() {
        if (indexesUsed == generations.length) {
            int capacity = 2 * indexesUsed;
            generations = Arrays.copyOf(generations, capacity);
            entries = Arrays.copyOf(entries, capacity);
        }
        return indexesUsed++;
    }

    /** Sets the handle of a reserved number. */
    synchronized void put(long lh, TierHandle handle) {
        ENTRIES.setRelease(entries, (int) lh, new Entry(lh, handle));
    }

    /** Releases a reserved number that got no handle. */
    synchronized void cancel(long lh) {
        recycle((int) lh);
    }

    /**
     * The handle with this number, or null when the number is stale or was never used. With {@link
     * SessionProtocol#LOW_PRIORITY} its view of low priority.
     */
    @Nullable
    TierHandle find(long lh) {
        int index = (int) lh;
        @Nullable Entry[] now = entries;
        if (index < 0 || index >= now.length) {
            return null;
        }
        Entry entry = (Entry) ENTRIES.getAcquire(now, index);
        if (entry == null || entry.lh != (lh & ~SessionProtocol.LOW_PRIORITY)) {
            return null;
        }
        return lh < 0 ? entry.handle.withPriority(Priority.LOW) : entry.handle;
    }

    /**
     * The handle with this number.
     *
     * @throws LmrFreedException when the number is stale or was never used
     */
    TierHandle get(long lh) {
        TierHandle handle = find(lh);
        if (handle == null) {
            throw stale(lh);
        }
        return handle;
    }

    /** Removes and returns the handle; of two concurrent callers one gets the exception of {@link #get}. */
    synchronized TierHandle remove(long lh) {
        TierHandle handle = get(lh);
        ENTRIES.setRelease(entries, (int) lh, null);
        recycle((int) lh);
        return handle;
    }

    @GuardedBy("this")
    private void recycle(int index) {
        taken--;
        if (generations[index] < GENERATION_MAX) {
            freeIndexes.add(index);
        }
    }

    /** How many numbers are in use. */
    synchronized int size() {
        return taken;
    }

    /** For tests: sets an index's generation. */
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
