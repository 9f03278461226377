package dev.lite.fabric.shm;

import dev.lite.os.RawMemory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The sender's side of a ring. Any thread of this process. To send short data, a thread takes a position, copies the data and
 * publishes: one atomic instruction, and none between the data and the entry, so both cache lines travel at once. Later positions
 * are not delivered before this one is published; therefore a thread with long data first reserves room, copies the data, and
 * takes its position afterwards.
 */
final class SendRing {
    /** No room. */
    static final long NONE = -1;

    private static final int HELD_BITS = 20;
    private static final long HELD_MASK = (1L << HELD_BITS) - 1;
    private static final long ONE_POSITION = 1L << HELD_BITS;

    private final long ring;
    private final int entries;
    /** Upwards of {@link #HELD_BITS} the positions taken so far; below, how many hold room without a position yet. */
    private final AtomicLong taken = new AtomicLong();
    /** A count of consumed entries as it was when last read. */
    private final AtomicLong consumedSeen = new AtomicLong();

    SendRing(long ring, int entries) {
        this.ring = ring;
        this.entries = entries;
    }

    /** A position, or {@link #NONE}; {@link #publish} must follow, soon. */
    long tryTake() {
        long before = tryAdd(ONE_POSITION);
        return before == NONE ? NONE : before >>> HELD_BITS;
    }

    /** Whether there is room for one more; then {@link #takeHeld} or {@link #giveBack} follows. */
    boolean tryHold() {
        return tryAdd(1) != NONE;
    }

    private long tryAdd(long what) {
        while (true) {
            long before = taken.get();
            long used = (before >>> HELD_BITS) + (before & HELD_MASK);
            if (used - consumedSeen.getOpaque() >= entries && used - refreshConsumed() >= entries) {
                return NONE;
            }
            if (taken.compareAndSet(before, before + what)) {
                return before;
            }
        }
    }

    /** What the peer has consumed. Impossible values are ignored, because the peer can write this memory, too. */
    private long refreshConsumed() {
        long seen = consumedSeen.get();
        long consumed = RawMemory.getLongAcquire(RingLayout.consumedAddress(ring));
        if (consumed > seen && consumed <= taken.get() >>> HELD_BITS) {
            consumedSeen.compareAndSet(seen, consumed);
            return consumed;
        }
        return seen;
    }

    /** The position for held room; {@link #publish} must follow at once. */
    long takeHeld() {
        return taken.getAndAdd(ONE_POSITION - 1) >>> HELD_BITS;
    }

    /** Gives held room back. */
    void giveBack() {
        taken.getAndDecrement();
    }

    /** Publishes an immediate. The receiver sees everything that this thread stored before. */
    void publish(long position, int immediate) {
        publish(position, immediate, 0, 0, 0);
    }

    /**
     * Publishes an immediate and data of at most {@link RingLayout#INLINE_BYTES_MAX} bytes, which the receiver places before
     * it takes the immediate.
     */
    void publish(long position, int immediate, long remoteOffset, long localAddress, long length) {
        long address = RingLayout.entryAddress(ring, entries, position);
        if (length > 0) {
            RawMemory.copy(localAddress, RingLayout.dataAddress(address), length);
        }
        RawMemory.putLong(RingLayout.whereAddress(address), RingLayout.where(remoteOffset, length));
        RawMemory.putLongVolatile(address, RingLayout.entry(entries, position, immediate));
    }
}
