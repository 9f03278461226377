package dev.lite.fabric.shm;

import dev.lite.os.RawMemory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The sender's side of a ring. Any thread of this process. Whoever sends what is short takes a position, places the data and
 * publishes: one atomic step, and none between the data and the entry, so both cache lines travel at once. Those behind it
 * wait until it has published; therefore whoever sends what is long first holds room only, places the data, and takes its
 * position when that is done.
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
    /** A count of consumed entries that was true once. */
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

    /** What the peer has consumed; a number that cannot be (it is the peer's memory, too) is not believed. */
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

    /** Hands an immediate over. All that this thread stored before is visible to whoever takes it. */
    void publish(long position, int immediate) {
        publish(position, immediate, 0, 0, 0);
    }

    /**
     * Hands an immediate over, and data of at most {@link RingLayout#INLINE_BYTES_MAX} bytes, which the receiver places before
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
