package dev.lite.session.channel;

import dev.lite.os.waiting.DeadlineSweeper;
import dev.lite.os.waiting.Unrecoverable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;

/**
 * The calls of a channel that no thread waits for. Exactly one thread ends a call: the one that claims it. That thread then owns the
 * slot. Any thread, in the memory.
 *
 * <p>A claim names one call, not only its slot: the sweep reads which call the slot has, then the deadline of that call, and then claims
 * that call. If the slot has another call by then, the claim has no effect, and the reply to the other call still finds it.
 */
final class StartedCalls {
    private final ChannelMemory memory;
    private final IntConsumer ender;
    private final LongSupplier clock;

    /**
     * A bit for each slot whose call is under way. Set before the call is in {@link #calls}, and cleared by the claim, before the slot may
     * have another call: a bit may come early, but a call under way always has its bit.
     */
    private final AtomicLong underWay = new AtomicLong();

    /** By slot: a number that grows when a call begins, to an odd one, and when it is claimed, to an even one. */
    private final AtomicLongArray calls;

    /** By slot; written before its call is in {@link #calls}. */
    private final long[] deadlinesNs;

    private final DeadlineSweeper deadlines = new DeadlineSweeper(this::sweep);

    /** @param ender ends the call of a slot; must not block or throw */
    StartedCalls(ChannelMemory memory, IntConsumer ender) {
        this(memory, ender, System::nanoTime);
    }

    /** @param clock {@link System#nanoTime}, or that of a test */
    StartedCalls(ChannelMemory memory, IntConsumer ender, LongSupplier clock) {
        this.memory = memory;
        this.ender = ender;
        this.clock = clock;
        calls = new AtomicLongArray(memory.area.slots());
        deadlinesNs = new long[memory.area.slots()];
    }

    boolean isAny() {
        return underWay.get() != 0;
    }

    /** A bit for each slot that may have such a call. */
    long underWay() {
        return underWay.get();
    }

    /** A call begins; its request is not submitted yet. If this throws, because there is no memory for a timer, it has not begun. */
    void begin(int slot, long deadlineNs) {
        deadlinesNs[slot] = deadlineNs;
        long bit = 1L << slot;
        // A begin or a claim whose stack has overflowed may have left the bit, and a begin an odd number.
        long unused = underWay.getAndUpdate(bits -> bits | bit);
        long call = (calls.get(slot) + 1) | 1;
        calls.set(slot, call);
        try {
            deadlines.sweepAfter(deadlineNs); // after the call, which a sweep that covers the deadline must see
        } catch (RuntimeException | Error e) {
            if (claim(slot, call)) {
                throw e;
            } // else another thread ends the call
        }
        if (memory.isEnded()) { // either this thread sees that here, or the end sees the call
            if (claim(slot, call)) {
                end(slot);
            }
        }
    }

    /** Whether the slot has such a call that no other thread ends. Then this thread {@linkplain #end ends} it. */
    boolean claim(int slot) {
        return underWay.get() != 0 && claim(slot, calls.get(slot));
    }

    /** @param call what was read of {@link #calls}, perhaps long ago */
    private boolean claim(int slot, long call) {
        if (!isUnderWay(call) || !calls.compareAndSet(slot, call, call + 1)) {
            return false;
        }
        long bit = 1L << slot;
        long unused = underWay.getAndUpdate(bits -> bits & ~bit);
        return true;
    }

    private static boolean isUnderWay(long call) {
        return (call & 1) != 0;
    }

    /** Ends the call of a slot, which the thread has {@linkplain #claim claimed}. */
    void end(int slot) {
        try {
            ender.accept(slot);
        } catch (RuntimeException | Error e) { // for example no memory: the other calls must end, too
            Unrecoverable.report(e);
        }
    }

    /** The channel has ended. Returns how many calls this thread has ended. */
    int endAll() {
        return endAll(slot -> true);
    }

    /** Ends the calls that are over; returns how many. The slot has its call while it is tested, or no other thread's claim fails. */
    int endAll(IntPredicate over) {
        int count = 0;
        for (long bits = underWay.get(); bits != 0; bits &= bits - 1) {
            int slot = Long.numberOfTrailingZeros(bits);
            long call = calls.get(slot);
            if (isUnderWay(call) && over.test(slot) && claim(slot, call)) {
                end(slot);
                count++;
            }
        }
        return count;
    }

    /** Ends the calls whose deadline has passed. Not in the memory. */
    void sweep() {
        if (!memory.enter()) {
            return; // all have ended
        }
        try {
            for (long bits = underWay.get(); bits != 0; bits &= bits - 1) {
                int slot = Long.numberOfTrailingZeros(bits);
                long call = calls.get(slot); // before its deadline
                if (!isUnderWay(call)) {
                    continue; // one that begins just now asks for a sweep after this one
                }
                long deadlineNs = deadlinesNs[slot];
                if (clock.getAsLong() - deadlineNs < 0) {
                    deadlines.sweepAfter(deadlineNs);
                } else if (claim(slot, call)) {
                    end(slot);
                }
            }
        } finally {
            memory.exit();
        }
    }
}
