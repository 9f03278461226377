package dev.lite.fabric.shm;

import dev.lite.os.RawMemory;

/** The receiver's side of a ring. The thread that holds the poll role. */
final class ReceiveRing {
    private final long ring;
    private final int entries;
    private long consumed;

    ReceiveRing(long ring, int entries) {
        this.ring = ring;
        this.entries = entries;
    }

    /** Whether {@link #next} has one. Sequentially consistent, as {@link Doorbell} needs it. */
    boolean hasNext() {
        return RingLayout.isOf(
                RawMemory.getLongVolatile(RingLayout.entryAddress(ring, entries, consumed)), entries, consumed);
    }

    /** Takes the next immediate, which must be there, and gives its place back to the sender. */
    int next() {
        long entry = RawMemory.getLongAcquire(RingLayout.entryAddress(ring, entries, consumed));
        consumed++;
        RawMemory.putLongRelease(RingLayout.consumedAddress(ring), consumed);
        return (int) entry;
    }
}
