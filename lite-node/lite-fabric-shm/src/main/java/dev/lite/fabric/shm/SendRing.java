package dev.lite.fabric.shm;

import dev.lite.os.RawMemory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The sender's side of a ring. Any thread of this process. To send short data, a thread takes a position, copies the data and
 * publishes the entry. This takes one atomic instruction, and none between data and entry, so both cache lines move at once. Later
 * positions are not delivered before this one is published. Therefore a thread with long data first reserves room, then copies the
 * data, and takes its position last.
 */
final class SendRing {
    /** No room. */
    static final long NONE = -1;

    private static final int HELD_BITS = Long.SIZE - RingLayout.POSITION_BITS;
    private static final long HELD_MASK = (1L << HELD_BITS) - 1;
    private static final long ONE_POSITION = 1L << HELD_BITS;

    private final long ring;
    private final int entries;
    /** Above {@link #HELD_BITS}: number of positions taken so far; below: number of threads with reserved room but no position yet. */
    private final AtomicLong taken;
    /** The number of consumed entries when it was last read. */
    private final AtomicLong consumedSeen;

    SendRing(long ring, int entries) {
        this(ring, entries, 0);
    }

    /** @param sent the number of entries that were sent and consumed before */
    SendRing(long ring, int entries, long sent) {
        this.ring = ring;
        this.entries = entries;
        taken = new AtomicLong(sent << HELD_BITS);
        consumedSeen = new AtomicLong(sent);
    }

    /** Takes a position, or returns {@link #NONE}. {@link #publish} must follow soon. */
    long tryTake() {
        long before = tryAdd(ONE_POSITION);
        return before == NONE ? NONE : before >>> HELD_BITS;
    }

    /** Reserves room for one entry; returns whether there was room. Then {@link #takeHeld} or {@link #giveBack} must follow. */
    boolean tryHold() {
        return tryAdd(1) != NONE;
    }

    private long tryAdd(long what) {
        while (true) {
            long before = taken.get();
            long position = before >>> HELD_BITS;
            long room = entries - (before & HELD_MASK);
            if (distance(position, consumedSeen.getOpaque()) >= room && distance(position, refreshConsumed()) >= room) {
                return NONE;
            }
            if (taken.compareAndSet(before, before + what)) {
                return before;
            }
        }
    }

    /** The number of entries that the peer has consumed. Ignores impossible values, because the peer can write this memory. */
    private long refreshConsumed() {
        long seen = consumedSeen.get();
        long consumed = RawMemory.getLongAcquire(RingLayout.consumedAddress(ring));
        if (distance(consumed, seen) > 0 && distance(consumed, taken.get() >>> HELD_BITS) <= 0) {
            consumedSeen.compareAndSet(seen, consumed);
            return consumed;
        }
        return seen;
    }

    /** How much one count of entries is ahead of another. Positions begin again after their last one, so only their bits count. */
    private static long distance(long count, long of) {
        return (count - of) << HELD_BITS >> HELD_BITS;
    }

    /** Takes the position for reserved room. {@link #publish} must follow at once. */
    long takeHeld() {
        return taken.getAndAdd(ONE_POSITION - 1) >>> HELD_BITS;
    }

    /** Releases reserved room. */
    void giveBack() {
        taken.getAndDecrement();
    }

    /** Publishes an immediate. The receiver then sees everything that this thread stored before. */
    void publish(long position, int immediate) {
        publish(position, immediate, 0, 0, 0);
    }

    /**
     * Publishes an immediate with at most {@link RingLayout#INLINE_BYTES_MAX} bytes of data, which the receiver copies to its
     * destination before it takes the immediate.
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
