package dev.lite.session.channel;

import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Polling;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One end's view of the memory: its addresses, its users, and the channel's end. A thread {@linkplain #enter enters} before it
 * touches the memory and {@linkplain #exit exits} after that; the memory is unmapped when nobody is in it. Any thread.
 */
final class ChannelMemory {
    /** A wake-up that a faulty other side keeps back costs at most this. */
    static final long SLEEP_NS_MAX = TimeUnit.SECONDS.toNanos(1);
    /** Tries to change a word that the other side changes, too; an honest one changes it at most three times. */
    static final int TRIES_MAX = 8;

    private static final int DOORBELL_ENDED = -1;
    private static final int CLOSED = Integer.MIN_VALUE;

    final ChannelArea area;
    private final SharedMemory memory;
    private final long base;
    private final String name;
    private final long ended;
    /** The threads in the memory, and {@link #CLOSED}. */
    private final AtomicInteger users = new AtomicInteger();
    /** Why the channel has ended, as far as this end knows. */
    private final AtomicReference<@Nullable String> reason = new AtomicReference<>();
    /** Null: both ends have the same memory. */
    private volatile @Nullable ChannelLink link;

    /**
     * @param memory taken over
     * @param name of the channel, for messages
     * @throws IllegalArgumentException when the memory is smaller than the area; it is closed then
     */
    ChannelMemory(SharedMemory memory, ChannelArea area, String name) {
        if (memory.size() < area.bytes()) {
            memory.close();
            throw new IllegalArgumentException(
                    "%s: the memory has %d bytes; the area needs %d".formatted(name, memory.size(), area.bytes()));
        }
        this.memory = memory;
        this.area = area;
        this.name = name;
        base = memory.address();
        ended = base + ChannelArea.ENDED;
    }

    /** The other end has a memory of its own, and this link to it. Before the memory is used. */
    void linked(ChannelLink its) {
        link = its;
    }

    long submitted() {
        return base + ChannelArea.SUBMITTED;
    }

    long doorbell() {
        return base + ChannelArea.DOORBELL;
    }

    /** The address of a slot; the slot's number must have been checked. */
    long slot(int slot) {
        return base + ChannelArea.slotOffset(slot);
    }

    long word(int slot) {
        return slot(slot) + ChannelArea.WORD;
    }

    long window(int slot) {
        return base + area.windowOffset(slot);
    }

    /** Begins an access; false: the memory is closed. */
    boolean enter() {
        if (users.getAndIncrement() >= 0) {
            return true;
        }
        users.getAndDecrement();
        return false;
    }

    void exit() {
        users.getAndDecrement();
    }

    /** Whether this end or, as far as this end has noticed, the other end has ended the channel. */
    boolean isEnded() {
        if (reason.get() != null) {
            return true;
        }
        if (RawMemory.getIntVolatile(ended) == 0) {
            return false;
        }
        end("the other end has ended the channel");
        return true;
    }

    /** {@link #isEnded} for a thread that is not in the memory; true after its end, too. */
    boolean hasEnded() {
        if (!enter()) {
            return true;
        }
        try {
            return isEnded();
        } finally {
            exit();
        }
    }

    /** Why the channel has ended. */
    ChannelEndedException endedException(boolean maybeDone) {
        String why = reason.get();
        return new ChannelEndedException(
                "%s: %s; %s"
                        .formatted(
                                name,
                                why == null ? "the channel was closed" : why,
                                maybeDone ? "the call may have been done" : "the call was not done"),
                maybeDone);
    }

    /** The channel has ended for a thread that receives or replies. */
    ChannelEndedException endedException() {
        return new ChannelEndedException("%s: %s".formatted(name, reason.get()), false);
    }

    String name() {
        return name;
    }

    /** Ends the channel because of a value in the memory. */
    void endFor(String what, long value, String limit) {
        end("%s: %d; must be %s".formatted(what, value, limit));
    }

    /** Ends the channel, wakes all sleepers of both ends; the first reason counts. The calling thread is in the memory. */
    void end(String why) {
        if (!reason.compareAndSet(null, why)) {
            return;
        }
        RawMemory.putIntVolatile(ended, 1);
        // After the state: a thread that announces its sleep later sees the state.
        RawMemory.getAndSetInt(doorbell(), DOORBELL_ENDED);
        int unused = Futex.wake(doorbell(), Integer.MAX_VALUE);
        for (int slot = 0; slot < area.slots(); slot++) {
            long word = word(slot);
            for (int tries = 0; tries < TRIES_MAX; tries++) {
                int seen = RawMemory.getIntVolatile(word);
                if (RawMemory.compareAndSetInt(word, seen, seen | SlotWord.ENDED)) {
                    break;
                }
            }
            int unusedToo = Futex.wake(word, Integer.MAX_VALUE);
        }
        ChannelLink its = link;
        if (its != null) {
            its.end();
        }
    }

    /** Sleeps on a word while it has this value, until the deadline and at most a second. */
    void sleep(long word, int expected, long deadlineNs) {
        long leftNs = Math.min(deadlineNs - System.nanoTime(), SLEEP_NS_MAX);
        if (leftNs > 0) {
            Futex.Wait unused = Futex.await(word, expected, leftNs);
        }
    }

    /** Unmaps the memory after the last thread has left it. Call it once, after {@link #end}. */
    void close() {
        users.getAndAdd(CLOSED);
        for (int step = 0; users.get() != CLOSED; step++) {
            Polling.pause(step);
        }
        ChannelLink its = link;
        if (its != null) {
            its.close();
        }
        memory.close();
    }
}
