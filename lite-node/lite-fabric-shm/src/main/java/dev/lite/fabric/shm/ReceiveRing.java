package dev.lite.fabric.shm;

import dev.lite.os.RawMemory;

/** The receiver's side of a ring. The thread that holds the poll role. */
final class ReceiveRing {
    private final long ring;
    private final int entries;
    private final long memory;
    private final long memoryBytes;
    private long consumed;

    /**
     * @param memory where this node's memory lies, for the data that travels in entries
     * @param memoryBytes its size
     */
    ReceiveRing(long ring, int entries, long memory, long memoryBytes) {
        this.ring = ring;
        this.entries = entries;
        this.memory = memory;
        this.memoryBytes = memoryBytes;
    }

    /** Whether {@link #next} has one. Sequentially consistent, as {@link Doorbell} needs it. */
    boolean hasNext() {
        return RingLayout.isOf(
                RawMemory.getLongVolatile(RingLayout.entryAddress(ring, entries, consumed)), entries, consumed);
    }

    /** Places the data that came in the next entry, which must be there; false when it does not lie in the memory. */
    boolean placeData() {
        long address = RingLayout.entryAddress(ring, entries, consumed);
        long where = RawMemory.getLong(RingLayout.whereAddress(address));
        if (where == 0) {
            return true;
        }
        // One load: what the peer stores there meanwhile does not count.
        long offset = RingLayout.offset(where);
        long length = RingLayout.length(where);
        if (length > RingLayout.INLINE_BYTES_MAX || offset > memoryBytes - length) {
            return false;
        }
        RawMemory.copy(RingLayout.dataAddress(address), memory + offset, length);
        return true;
    }

    /** Takes the next immediate, whose data is placed, and gives its place back to the sender. */
    int next() {
        long entry = RawMemory.getLongAcquire(RingLayout.entryAddress(ring, entries, consumed));
        consumed++;
        RawMemory.putLongRelease(RingLayout.consumedAddress(ring), consumed);
        return (int) entry;
    }
}
