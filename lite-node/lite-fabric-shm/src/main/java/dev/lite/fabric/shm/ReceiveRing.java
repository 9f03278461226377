package dev.lite.fabric.shm;

import dev.lite.os.RawMemory;

/** The receiver's side of a ring. Used by the poll role. */
final class ReceiveRing {
    private final long ring;
    private final int entries;
    private final long memory;
    private final long memoryBytes;
    private long consumed;

    /**
     * @param memory address of this node's memory, to which data in entries is copied
     * @param memoryBytes size of that memory
     */
    ReceiveRing(long ring, int entries, long memory, long memoryBytes) {
        this(ring, entries, memory, memoryBytes, 0);
    }

    /** @param consumed the number of entries that were received before */
    ReceiveRing(long ring, int entries, long memory, long memoryBytes, long consumed) {
        this.consumed = consumed;
        this.ring = ring;
        this.entries = entries;
        this.memory = memory;
        this.memoryBytes = memoryBytes;
    }

    /** Whether {@link #next} has an entry. Sequentially consistent, as {@link Doorbell} requires. */
    boolean hasNext() {
        return RingLayout.isOf(
                RawMemory.getLongVolatile(RingLayout.entryAddress(ring, entries, consumed)), entries, consumed);
    }

    /** Copies the data in the next entry, which must exist, to its destination; false if that is not in this node's memory. */
    boolean placeData() {
        long address = RingLayout.entryAddress(ring, entries, consumed);
        long where = RawMemory.getLong(RingLayout.whereAddress(address));
        if (where == 0) {
            return true;
        }
        // Load only once, because the peer can change the value meanwhile.
        long offset = RingLayout.offset(where);
        long length = RingLayout.length(where);
        if (length > RingLayout.INLINE_BYTES_MAX || offset > memoryBytes - length) {
            return false;
        }
        RawMemory.copy(RingLayout.dataAddress(address), memory + offset, length);
        return true;
    }

    /** Takes the next immediate, whose data was copied already, and returns its entry to the sender. */
    int next() {
        long entry = RawMemory.getLongAcquire(RingLayout.entryAddress(ring, entries, consumed));
        consumed++;
        RawMemory.putLongRelease(RingLayout.consumedAddress(ring), consumed);
        return (int) entry;
    }
}
