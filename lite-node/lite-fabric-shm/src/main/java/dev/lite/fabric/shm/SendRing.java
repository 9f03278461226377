package dev.lite.fabric.shm;

import dev.lite.os.RawMemory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The sender's side of a ring. Any thread of this process: reserve room, place the data, publish. The position is taken only
 * when publishing, so a long copy holds nobody else up, and a copy that fails leaves no hole.
 */
final class SendRing {
    private final long ring;
    private final int entries;
    /** Reserved so far; at most {@code entries} more than were consumed. */
    private final AtomicLong reserved = new AtomicLong();
    /** Published so far, or being published; never more than are reserved. */
    private final AtomicLong published = new AtomicLong();
    /** A count of consumed entries that was true once. */
    private final AtomicLong consumedSeen = new AtomicLong();

    SendRing(long ring, int entries) {
        this.ring = ring;
        this.entries = entries;
    }

    /** Whether there is room for one more; then {@link #publish} or {@link #giveBack} follows. */
    boolean tryReserve() {
        while (true) {
            long before = reserved.get();
            if (before - consumedSeen.getOpaque() >= entries && before - refreshConsumed() >= entries) {
                return false;
            }
            if (reserved.compareAndSet(before, before + 1)) {
                return true;
            }
        }
    }

    /** What the peer has consumed; a number that cannot be (it is the peer's memory, too) is not believed. */
    private long refreshConsumed() {
        long seen = consumedSeen.get();
        long consumed = RawMemory.getLongAcquire(RingLayout.consumedAddress(ring));
        if (consumed > seen && consumed <= published.get()) {
            consumedSeen.compareAndSet(seen, consumed);
            return consumed;
        }
        return seen;
    }

    /** Undoes a reservation. */
    void giveBack() {
        reserved.getAndDecrement();
    }

    /** Hands an immediate over. All that this thread stored before is visible to whoever takes it. */
    void publish(int immediate) {
        long position = published.getAndIncrement();
        RawMemory.putLongVolatile(
                RingLayout.entryAddress(ring, entries, position), RingLayout.entry(entries, position, immediate));
    }
}
