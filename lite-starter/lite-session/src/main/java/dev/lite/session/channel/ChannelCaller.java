package dev.lite.session.channel;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.StagedWait;
import dev.lite.os.waiting.Turns;
import dev.lite.session.waiting.VirtualWaits;
import dev.lite.session.wire.WireError;
import dev.lite.session.wire.WireText;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The caller's end of a channel; see the package. Any number of platform and virtual threads call at the same time. A call that
 * succeeds allocates nothing.
 */
public final class ChannelCaller implements AutoCloseable {
    private static final byte[] NO_CONTEXT = {};
    private static final long TIMEOUT_NS_MAX = Long.MAX_VALUE / 2;

    private final ChannelMemory memory;
    private final ChannelArea area;
    private final RequestBell bell;
    private final CallerSlots slots;
    private final StagedWait wait;
    private final Turns turns;
    private final StagedWait virtualsWait;
    private final VirtualWaits virtualWaits;
    private final AtomicBoolean closed = new AtomicBoolean();
    /** By slot; written by its owner. */
    private final int[] generations;

    private volatile boolean retired;

    /**
     * Takes over the memory; {@link #close} unmaps it.
     *
     * @param function the name of the function and its node, for messages
     * @param spins the largest number of pauses before a thread sleeps
     * @param turns for short calls of many threads
     * @throws IllegalArgumentException when the memory is smaller than the area; it is closed then
     */
    public ChannelCaller(SharedMemory memory, ChannelArea area, String function, int spins, Turns turns) {
        this(memory, area, function, spins, turns, VirtualWaits.STARTER);
    }

    /** @param starter makes the platform thread that sleeps for virtual threads */
    ChannelCaller(
            SharedMemory memory, ChannelArea area, String function, int spins, Turns turns, ThreadFactory starter) {
        this.memory = new ChannelMemory(memory, area, function);
        this.area = area;
        bell = new RequestBell(this.memory.submitted(), this.memory.doorbell());
        generations = new int[area.slots()];
        wait = StagedWait.ofTurns(spins);
        this.turns = turns;
        virtualsWait = new StagedWait(spins);
        slots = new CallerSlots(area.slotBits(), this::isDropped, this.memory::isEnded);
        virtualWaits = new VirtualWaits(new Words(), spins, starter);
    }

    /**
     * Calls the function and waits for its reply. Both segments are used only during the call. An interrupt does not end the call;
     * it is kept.
     *
     * @param request at most a window of {@link ChannelArea#windowBytes} bytes
     * @param reply filled from its start; the server cannot answer with more
     * @param timeoutNs nanoseconds for all of the call, not negative
     * @return the length of the reply in bytes
     * @throws LimitExceededException when the request is longer than the window: the call was not done
     * @throws LiteTimeoutException when the time has passed; the message says whether the call may have been done
     * @throws ChannelEndedException when the channel has ended, which says whether the call may have been done
     * @throws LiteException the function's error
     */
    public int call(MemorySegment request, MemorySegment reply, long timeoutNs) {
        return call(NO_CONTEXT, request, reply, timeoutNs);
    }

    /**
     * {@link #call(MemorySegment, MemorySegment, long)} with a context.
     *
     * @param context at most {@link LtRpc#CONTEXT_BYTES_MAX} bytes; with the request at most a window
     */
    public int call(byte[] context, MemorySegment request, MemorySegment reply, long timeoutNs) {
        enter();
        try {
            int capacity = (int) Math.min(reply.byteSize(), area.windowBytes());
            int slot = run(context, request, capacity, timeoutNs);
            try {
                int length = replyLength(slot, capacity);
                RawMemory.copyTo(memory.window(slot), reply, 0, length);
                return length;
            } finally {
                slots.giveBack(slot);
            }
        } finally {
            memory.exit();
        }
    }

    /**
     * {@link #call(MemorySegment, MemorySegment, long)} for a reply of any length up to a window.
     *
     * @return the reply, in an array of its own
     */
    public byte[] call(MemorySegment request, long timeoutNs) {
        return call(NO_CONTEXT, request, timeoutNs);
    }

    /** {@link #call(MemorySegment, long)} with a context. */
    public byte[] call(byte[] context, MemorySegment request, long timeoutNs) {
        enter();
        try {
            int slot = run(context, request, area.windowBytes(), timeoutNs);
            try {
                byte[] reply = new byte[replyLength(slot, area.windowBytes())];
                RawMemory.copyTo(memory.window(slot), MemorySegment.ofArray(reply), 0, reply.length);
                return reply;
            } finally {
                slots.giveBack(slot);
            }
        } finally {
            memory.exit();
        }
    }

    private void enter() {
        if (!memory.enter()) {
            throw memory.endedException(false);
        }
    }

    /** Executes a call; returns its slot with the reply, which the thread must give back. */
    private int run(byte[] context, MemorySegment request, int capacity, long timeoutNs) {
        long length = context.length + request.byteSize();
        if (length > area.windowBytes()) {
            WireText.checkRequest(
                    memory.name() + ": the request", request.byteSize(), context.length, area.windowBytes());
        }
        if (timeoutNs < 0) {
            throw new IllegalArgumentException(
                    "%s: the timeout is %d ns; it must not be negative".formatted(memory.name(), timeoutNs));
        }
        long deadlineNs = System.nanoTime() + Math.min(timeoutNs, TIMEOUT_NS_MAX);
        turns.begin(deadlineNs);
        int slot = takeSlot(deadlineNs, timeoutNs);
        int generation = submit(slot, context, request, capacity);
        boolean waited = false;
        boolean done;
        try {
            done = await(slot, generation, deadlineNs);
            waited = true;
        } finally {
            if (!waited) { // for example no memory for a thread; the server may still write there
                slots.quarantine(slot);
            }
        }
        if (!done) {
            stopWaiting(slot, generation, timeoutNs);
        }
        return slot;
    }

    private int takeSlot(long deadlineNs, long timeoutNs) {
        int slot = memory.isEnded() ? -1 : slots.take(deadlineNs);
        if (slot >= 0) {
            return slot;
        }
        if (memory.isEnded()) {
            throw memory.endedException(false);
        }
        throw new LiteTimeoutException(
                "%s: no slot was free within %s; all %d are in use, %d by calls that timed out; the call was not done"
                        .formatted(memory.name(), Durations.text(timeoutNs), area.slots(), slots.quarantined()));
    }

    private int submit(int slot, byte[] context, MemorySegment request, int capacity) {
        int length = context.length + (int) request.byteSize();
        try {
            if (context.length > 0) {
                RawMemory.copyFrom(MemorySegment.ofArray(context), 0, memory.window(slot), context.length);
            }
            RawMemory.copyFrom(request, 0, memory.window(slot) + context.length, length - context.length);
        } catch (RuntimeException
                | Error e) { // a closed segment, or one of another thread, or a file that was truncated
            slots.giveBack(slot);
            throw e;
        }
        int generation = SlotWord.next(generations[slot]);
        generations[slot] = generation;
        RawMemory.putInt(
                memory.slot(slot) + ChannelArea.REQUEST_LENGTH, length | context.length << ChannelArea.CONTEXT_SHIFT);
        RawMemory.putInt(memory.slot(slot) + ChannelArea.CAPACITY, capacity);
        RawMemory.putIntRelease(memory.word(slot), SlotWord.of(generation, SlotWord.PENDING));
        boolean unused = bell.submit(slot);
        return generation;
    }

    /** Waits for the reply; returns whether it is there. */
    private boolean await(int slot, int generation, long deadlineNs) {
        long word = memory.word(slot);
        StagedWait stages = Thread.currentThread().isVirtual() ? virtualsWait : wait;
        int left = stages.begin(1);
        if (stages == virtualsWait) {
            left = StagedWait.yieldsOnly(left); // pauses would keep the others from the carrier
        }
        while (left != 0 && isWaiting(word, generation)) {
            left = stages.pause(left);
        }
        if (isWaiting(word, generation)) {
            turns.late();
            sleepForReply(slot, deadlineNs);
        } else {
            stages.hit(left);
        }
        return isDone(RawMemory.getIntAcquire(word), generation);
    }

    private void sleepForReply(int slot, long deadlineNs) {
        boolean virtual = Thread.currentThread().isVirtual();
        int generation = generations[slot];
        long word = memory.word(slot);
        while (isWaiting(word, generation) && !memory.isEnded() && System.nanoTime() - deadlineNs < 0) {
            if (SlotWord.state(RawMemory.getIntAcquire(word)) == SlotWord.PENDING) {
                bell.ringAgain();
            }
            if (virtual) {
                virtualWaits.await(slot, deadlineNs);
                continue;
            }
            int expected = announce(word, generation);
            if (expected != 0 && !memory.isEnded()) {
                memory.sleep(word, expected, deadlineNs);
            }
        }
    }

    private static boolean isWaiting(long word, int generation) {
        return SlotWord.isWaiting(RawMemory.getIntAcquire(word), generation);
    }

    private static boolean isDone(int word, int generation) {
        return SlotWord.state(word) == SlotWord.DONE && SlotWord.generation(word) == generation;
    }

    /** Announces the sleep; returns the value with which the word may be slept on, or 0. */
    private static int announce(long word, int generation) {
        for (int tries = 0; tries < ChannelMemory.TRIES_MAX; tries++) {
            int seen = RawMemory.getIntVolatile(word);
            if (!SlotWord.isWaiting(seen, generation)) {
                return 0;
            }
            int announced = seen | SlotWord.SLEEPING;
            if (seen == announced || RawMemory.compareAndSetInt(word, seen, announced)) {
                return announced;
            }
        }
        return 0;
    }

    /** Cancels the call and throws; or returns, if the reply has come meanwhile. */
    private void stopWaiting(int slot, int generation, long timeoutNs) {
        long word = memory.word(slot);
        for (int tries = 0; tries < ChannelMemory.TRIES_MAX; tries++) {
            int seen = RawMemory.getIntVolatile(word);
            if (isDone(seen, generation)) {
                return;
            }
            int state = SlotWord.state(seen);
            boolean valid = SlotWord.generation(seen) == generation
                    && (state == SlotWord.PENDING || state == SlotWord.TAKEN)
                    && (!SlotWord.has(seen, SlotWord.ENDED) || memory.isEnded());
            if (!valid) {
                memory.endFor("slot %d's word".formatted(slot), seen, "of generation " + generation);
                break;
            }
            if (RawMemory.compareAndSetInt(word, seen, SlotWord.of(generation, SlotWord.CANCELLED))) {
                slots.quarantine(slot);
                throw stopped(state == SlotWord.TAKEN, timeoutNs);
            }
        }
        slots.quarantine(slot);
        throw stopped(true, timeoutNs);
    }

    private RuntimeException stopped(boolean maybeDone, long timeoutNs) {
        if (memory.isEnded()) {
            return memory.endedException(maybeDone);
        }
        return new LiteTimeoutException("%s: no reply within %s; %s"
                .formatted(
                        memory.name(),
                        Durations.text(timeoutNs),
                        maybeDone ? "the call may have been done" : "the call was not done"));
    }

    /** The length of the reply, or throws the function's error. Reads each word once. */
    private int replyLength(int slot, int capacity) {
        int status = RawMemory.getInt(memory.slot(slot) + ChannelArea.STATUS);
        int length = RawMemory.getInt(memory.slot(slot) + ChannelArea.REPLY_LENGTH);
        int limit = status == 0 ? capacity : area.windowBytes();
        if (length < 0 || length > limit) {
            memory.endFor("the length of the reply in slot " + slot, length, "0 to " + limit);
            throw memory.endedException(true);
        }
        if (status == 0) {
            return length;
        }
        byte[] text = new byte[length];
        RawMemory.copyTo(memory.window(slot), MemorySegment.ofArray(text), 0, length);
        throw WireError.exception(status, text, memory.name() + ": ");
    }

    private boolean isDropped(int slot) {
        return isDone(RawMemory.getIntAcquire(memory.word(slot)), generations[slot]);
    }

    /** Whether the channel has ended. */
    public boolean isEnded() {
        return memory.hasEnded();
    }

    /** No call should begin any more; those under way continue. The caller closes this end when it {@linkplain #isIdle is idle}. */
    public void retire() {
        retired = true;
    }

    /** Whether {@link #retire} was called. */
    public boolean isRetired() {
        return retired;
    }

    /** Whether no call is under way, and none that timed out may still be answered; true after the end of this end, too. */
    public boolean isIdle() {
        if (!memory.enter()) { // slots in quarantine are read from the memory
            return true;
        }
        try {
            return slots.isIdle();
        } finally {
            memory.exit();
        }
    }

    /** The longest request and the longest reply in bytes. */
    public int windowBytes() {
        return area.windowBytes();
    }

    /** Ends the channel for both ends: calls under way fail. Idempotent; the first reason counts. */
    public void end(String reason) {
        if (memory.enter()) {
            try {
                memory.end(reason);
                slots.wakeAll();
                virtualWaits.lose();
            } finally {
                memory.exit();
            }
        }
    }

    /** Ends the channel, waits for the calls under way to fail, and unmaps the memory. Idempotent. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            end("the caller's end was closed");
            virtualWaits.lose();
            memory.close();
        }
    }

    /** The words of the slots, for virtual threads. */
    private final class Words implements VirtualWaits.Words {
        @Override
        public boolean isOver(int slot) {
            return !isWaiting(memory.word(slot), generations[slot]) || memory.isEnded();
        }

        @Override
        public boolean announce(int slot, FutexWords words) {
            long word = memory.word(slot);
            int expected = ChannelCaller.announce(word, generations[slot]);
            if (expected == 0 || memory.isEnded()) {
                return false;
            }
            words.add(word, expected);
            return true;
        }
    }
}
