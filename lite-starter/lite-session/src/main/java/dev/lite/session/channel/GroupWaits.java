package dev.lite.session.channel;

import dev.lite.os.FutexWords;
import dev.lite.session.waiting.VirtualWaits;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The waits of virtual threads in all {@linkplain ChannelGroup groups} of an application: one platform thread sleeps on the words of
 * all of them. Any thread.
 */
public final class GroupWaits {
    /** A wait beyond the {@value VirtualWaits#SLOTS_MAX} that fit looks again after this time. */
    private static final long BEYOND_NS = 1_000_000;

    /** What a virtual thread waits for. */
    interface Wait {
        boolean isOver();

        /** Announces the sleep and adds its words; returns false if the wait is over. */
        boolean announce(FutexWords words);
    }

    private final VirtualWaits waits;
    private final AtomicLong used = new AtomicLong();
    private final AtomicReferenceArray<@Nullable Wait> bySlot = new AtomicReferenceArray<>(VirtualWaits.SLOTS_MAX);

    /** @param spins the largest number of pauses before the platform thread sleeps */
    public GroupWaits(int spins) {
        waits = new VirtualWaits(new Words(), spins);
    }

    /** Waits until the wait is over, or about until the deadline. A virtual thread. */
    void await(Wait wait, long deadlineNs) {
        int slot = take();
        if (slot < 0) {
            LockSupport.parkNanos(this, Math.min(BEYOND_NS, deadlineNs - System.nanoTime()));
            return;
        }
        bySlot.set(slot, wait);
        try {
            waits.await(slot, deadlineNs);
        } finally {
            bySlot.set(slot, null);
            long bit = 1L << slot;
            used.getAndUpdate(slots -> slots & ~bit);
        }
    }

    private int take() {
        while (true) {
            long slots = used.get();
            int slot = Long.numberOfTrailingZeros(~slots);
            if (slot == Long.SIZE) {
                return -1;
            }
            if (used.compareAndSet(slots, slots | 1L << slot)) {
                return slot;
            }
        }
    }

    /** Ends all waits, now and later. */
    public void close() {
        waits.lose();
    }

    private final class Words implements VirtualWaits.Words {
        @Override
        public boolean isOver(int slot) {
            Wait wait = bySlot.get(slot);
            return wait == null || wait.isOver();
        }

        @Override
        public boolean announce(int slot, FutexWords words) {
            Wait wait = bySlot.get(slot);
            return wait != null && wait.announce(words);
        }
    }
}
