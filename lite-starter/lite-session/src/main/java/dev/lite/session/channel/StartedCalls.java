package dev.lite.session.channel;

import dev.lite.os.RawMemory;
import dev.lite.os.waiting.DeadlineSweeper;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;

/**
 * The calls of a link that no thread waits for. Exactly one thread ends a call: the one that clears its bit. That thread then owns the
 * slot. Any thread, in the memory.
 */
final class StartedCalls {
    private final ChannelMemory memory;
    private final IntConsumer ender;
    /** A bit for each slot whose call is under way. */
    private final AtomicLong underWay = new AtomicLong();
    /** By slot; written before its bit is set. */
    private final long[] deadlinesNs;

    private final DeadlineSweeper deadlines = new DeadlineSweeper(this::sweep);

    /** @param ender ends the call of a slot; must not block or throw */
    StartedCalls(ChannelMemory memory, IntConsumer ender) {
        this.memory = memory;
        this.ender = ender;
        deadlinesNs = new long[memory.area.slots()];
    }

    boolean isAny() {
        return underWay.get() != 0;
    }

    /** A call begins; its request is not submitted yet. If this throws, because there is no memory for a timer, it has not begun. */
    void begin(int slot, long deadlineNs) {
        deadlinesNs[slot] = deadlineNs;
        long unused = underWay.getAndAdd(1L << slot); // the bit is not in it
        try {
            deadlines.sweepAfter(deadlineNs); // after the bit, which a sweep that covers the deadline must see
        } catch (RuntimeException | Error e) {
            if (claim(slot)) {
                throw e;
            } // else another thread ends the call
        }
        if (memory.isEnded()) { // either this thread sees that here, or the end sees the bit
            tryEnd(slot);
        }
    }

    /** Whether the slot has such a call that no other thread ends. Then this thread {@linkplain #end ends} it. */
    boolean claim(int slot) {
        long bit = 1L << slot;
        return underWay.get() != 0 && (underWay.getAndUpdate(bits -> bits & ~bit) & bit) != 0;
    }

    /** Ends the call of a slot, which the thread has {@linkplain #claim claimed}. */
    void end(int slot) {
        ender.accept(slot);
    }

    private void tryEnd(int slot) {
        if (claim(slot)) {
            end(slot);
        }
    }

    /** The channel has ended. */
    void endAll() {
        for (long bits = underWay.get(); bits != 0; bits &= bits - 1) {
            tryEnd(Long.numberOfTrailingZeros(bits));
        }
    }

    /** Ends the calls whose deadline has passed. Not in the memory. */
    private void sweep() {
        if (!memory.enter()) {
            return; // all have ended
        }
        try {
            for (long bits = underWay.get(); bits != 0; bits &= bits - 1) {
                int slot = Long.numberOfTrailingZeros(bits);
                if (!isLate(slot)) {
                    deadlines.sweepAfter(deadlinesNs[slot]);
                } else if (claim(slot)) {
                    endLate(slot);
                }
            }
        } finally {
            memory.exit();
        }
    }

    /** The slot's bit was cleared. Since the look at its deadline, the call may have ended, and the slot may have another one. */
    private void endLate(int slot) {
        if (isLate(slot)) {
            end(slot);
            return;
        }
        long unused = underWay.getAndAdd(1L << slot);
        deadlines.sweepAfter(deadlinesNs[slot]);
        int state = SlotWord.state(RawMemory.getIntVolatile(memory.word(slot)));
        if (state == SlotWord.DONE || memory.isEnded()) { // nobody else saw that meanwhile
            tryEnd(slot);
        }
    }

    private boolean isLate(int slot) {
        return System.nanoTime() - deadlinesNs[slot] >= 0;
    }
}
