package dev.lite.client;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.StagedWait;
import dev.lite.os.waiting.Turns;
import dev.lite.session.protocol.Doorbell;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.session.waiting.PolledWaits.SlotWait;
import dev.lite.session.wire.WireError;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The client's side of {@link SessionArea}. A thread acquires a slot from {@link #slots}, fills {@link #window}, calls {@link #submit}
 * and {@link #await}, and {@link #returnSlot}.
 * Nothing is allocated for a command that succeeds. Only the owner of a slot may call a method with that slot.
 */
final class DataPath {
    /** How a wait ended. */
    enum Outcome {
        /** The node completed the command. */
        DONE,
        /** The deadline passed; the node may still complete the command. */
        TIMED_OUT,
        /** The session ended. */
        LOST
    }

    private static final long BLOCK_NS_MAX = TimeUnit.SECONDS.toNanos(1);
    private static final int PAUSES_OF_VIRTUALS = 50;

    private final SharedMemory memory;
    private final SessionArea area;
    private final long base;
    private final Doorbell doorbell;
    private final StagedWait wait;
    private final Turns turns;
    private final SlotPool slots;
    private final SlotStates states;
    /** For virtual threads. */
    private final PolledWaits polledWaits;

    private final SlotWait[] slotWaits;
    private final WatchedCommands watched;
    private final ClientCounts counts;

    private volatile boolean lost;

    @GuardedBy("this")
    private boolean unmapped;

    /** Takes over the memory, which {@link #close} unmaps. */
    DataPath(SharedMemory memory, SessionArea area, int spins, Turns turns, ClientCounts counts) {
        this(memory, area, spins, turns, counts, new WatchedCommands(memory.address(), spins));
    }

    /** For tests, which may say how the thread of the watched commands starts. */
    DataPath(
            SharedMemory memory,
            SessionArea area,
            int spins,
            Turns turns,
            ClientCounts counts,
            WatchedCommands watched) {
        this.memory = memory;
        this.area = area;
        wait = new StagedWait(spins);
        this.turns = turns;
        this.counts = counts;
        base = memory.address();
        doorbell = new Doorbell(base);
        states = new SlotStates(base);
        polledWaits = new PolledWaits("lite-commands", spins);
        slotWaits = new SlotWait[area.slots()];
        Arrays.setAll(slotWaits, slot -> new SlotWait(states, slot));
        this.watched = watched;
        slots = new SlotPool(area.slots(), slot -> stateOf(slot) == SessionArea.STATE_DONE);
    }

    /** For short operations of many threads. */
    Turns turns() {
        return turns;
    }

    int slotCount() {
        return area.slots();
    }

    SlotPool slots() {
        return slots;
    }

    boolean isLost() {
        return lost;
    }

    int windowBytes() {
        return area.windowBytes();
    }

    /** The address of the slot's window. */
    long window(int slot) {
        return base + area.windowOffset(slot);
    }

    /** Submits a command. The node owns the window until the command is done. */
    void submit(int slot, int op, long lh, long offset, long length, long operand0, long operand1, long timeoutNs) {
        fill(slot, op, lh, offset, length, operand0, operand1, timeoutNs);
        RawMemory.putIntRelease(base + SessionArea.slotOffset(slot) + SessionArea.STATE, SessionArea.STATE_PENDING);
        doorbell.submit(slot);
    }

    /**
     * Submits a command that no thread waits for. The slot then belongs to the ending, which must return it. Does not block.
     *
     * @param deadlineNs when to end it as {@link Outcome#TIMED_OUT}, of {@link System#nanoTime}
     * @param ending called once, when the command has ended
     */
    void submitWatched(
            int slot,
            int op,
            long lh,
            long offset,
            long length,
            long operand0,
            long operand1,
            long timeoutNs,
            long deadlineNs,
            WatchedCommands.Ending ending) {
        fill(slot, op, lh, offset, length, operand0, operand1, timeoutNs);
        watched.submit(slot, deadlineNs, ending);
    }

    /** Ends watched commands; see {@link WatchedCommands#help}. */
    void help(Future<?> awaited, long deadlineNs) {
        watched.help(awaited, deadlineNs);
    }

    /** Writes a command into its slot. The node reads it when the slot's state says so. */
    private void fill(
            int slot, int op, long lh, long offset, long length, long operand0, long operand1, long timeoutNs) {
        counts.begun(slot, op, length);
        long at = base + SessionArea.slotOffset(slot);
        RawMemory.putInt(at + SessionArea.OP, op);
        RawMemory.putLong(at + SessionArea.LH, lh);
        RawMemory.putLong(at + SessionArea.OFFSET, offset);
        RawMemory.putLong(at + SessionArea.LENGTH, length);
        RawMemory.putLong(at + SessionArea.OPERAND0, operand0);
        RawMemory.putLong(at + SessionArea.OPERAND1, operand1);
        RawMemory.putLong(at + SessionArea.TIMEOUT_NS, timeoutNs);
    }

    /**
     * Waits for the node: pauses, yields, then blocks.
     *
     * @param deadlineNs of {@link System#nanoTime}
     */
    Outcome await(int slot, long deadlineNs) {
        Outcome outcome = awaitDone(slot, deadlineNs);
        if (outcome == Outcome.DONE) {
            counts.done(slot, RawMemory.getInt(base + SessionArea.slotOffset(slot) + SessionArea.OP));
        }
        return outcome;
    }

    private Outcome awaitDone(int slot, long deadlineNs) {
        if (Thread.currentThread().isVirtual()) {
            return awaitVirtually(slot, deadlineNs);
        }
        int left = wait.begin(1);
        while (stateOf(slot) != SessionArea.STATE_DONE) {
            if (left == 0) {
                turns.late();
                return awaitBlocked(slot, deadlineNs);
            }
            left = wait.pause(left);
        }
        wait.hit(left);
        return Outcome.DONE;
    }

    private Outcome awaitBlocked(int slot, long deadlineNs) {
        long state = base + SessionArea.slotOffset(slot) + SessionArea.STATE;
        // First the announcement, then the check of lost; lose() does the reverse. So one of the two sees the other.
        RawMemory.compareAndSetInt(state, SessionArea.STATE_PENDING, SessionArea.STATE_SLEEPING);
        while (true) {
            Outcome outcome = outcome(slot, deadlineNs);
            if (outcome != null) {
                return outcome;
            }
            long leftNs = Math.clamp(deadlineNs - System.nanoTime(), 1, BLOCK_NS_MAX);
            Futex.await(state, SessionArea.STATE_SLEEPING, leftNs);
        }
    }

    /** Most commands of mapped memory are done at once. Pauses beyond that would take the carrier from other virtual threads. */
    private Outcome awaitVirtually(int slot, long deadlineNs) {
        int pauses = Op.mayWait(RawMemory.getInt(base + SessionArea.slotOffset(slot) + SessionArea.OP))
                ? 0
                : PAUSES_OF_VIRTUALS;
        for (int i = 0; i < pauses; i++) {
            if (stateOf(slot) == SessionArea.STATE_DONE) {
                return Outcome.DONE;
            }
            Thread.onSpinWait();
        }
        while (true) {
            Outcome outcome = outcome(slot, deadlineNs);
            if (outcome != null) {
                return outcome;
            }
            polledWaits.await(slotWaits[slot], deadlineNs);
        }
    }

    private @Nullable Outcome outcome(int slot, long deadlineNs) {
        if (stateOf(slot) == SessionArea.STATE_DONE) {
            return Outcome.DONE;
        }
        if (lost) {
            return Outcome.LOST;
        }
        return deadlineNs - System.nanoTime() <= 0 ? Outcome.TIMED_OUT : null;
    }

    /** Whether the node has completed the slot's command. */
    boolean isDone(int slot) {
        return stateOf(slot) == SessionArea.STATE_DONE;
    }

    /** Announces that a thread will sleep on the slot's state, and adds that word; returns false if the command is done. */
    boolean announceSleep(int slot, FutexWords words) {
        return states.announce(slot, words);
    }

    /** Announces that threads sleep on the state of a slot whose command was just submitted. */
    void announceSleep(int slot) {
        states.announce(slot);
    }

    /** The result of a command that is done. */
    long result(int slot) {
        return RawMemory.getLong(base + SessionArea.slotOffset(slot) + SessionArea.RESULT);
    }

    /** The number of the call that a command received. */
    long receivedCall(int slot) {
        return RawMemory.getLong(base + SessionArea.slotOffset(slot) + SessionArea.CALL);
    }

    /** The number of its caller. */
    long receivedOrigin(int slot) {
        return RawMemory.getLong(base + SessionArea.slotOffset(slot) + SessionArea.ORIGIN);
    }

    /** How many of the first bytes of the received call are its context. */
    int receivedContext(int slot) {
        return RawMemory.getInt(base + SessionArea.slotOffset(slot) + SessionArea.CONTEXT);
    }

    /** The longest reply that its caller takes, in bytes; 0 if the node does not tell. */
    int receivedReplyMax(int slot) {
        return RawMemory.getInt(base + SessionArea.slotOffset(slot) + SessionArea.REPLY_BYTES_MAX);
    }

    /** How many further calls the command received. */
    int receivedFurther(int slot) {
        return RawMemory.getInt(base + SessionArea.slotOffset(slot) + SessionArea.FURTHER);
    }

    /** Whether a command that is done has failed. */
    boolean hasFailed(int slot) {
        return status(slot) != 0;
    }

    private int status(int slot) {
        return RawMemory.getInt(base + SessionArea.slotOffset(slot) + SessionArea.STATUS);
    }

    /** Throws the node's error if a command that is done has failed. */
    void check(int slot) {
        int status = status(slot);
        if (status != 0) {
            throw failure(slot, status);
        }
    }

    private LiteException failure(int slot, int status) {
        byte[] bytes = new byte[Math.clamp(result(slot), 0, area.windowBytes())];
        MemorySegment.copy(RawMemory.all(), ValueLayout.JAVA_BYTE, window(slot), bytes, 0, bytes.length);
        return WireError.exception(status, bytes, "");
    }

    /** Whether a command was submitted in the slot, and the node has not completed it. */
    boolean isUnderWay(int slot) {
        int state = stateOf(slot);
        return state != SessionArea.STATE_DONE && state != SessionArea.STATE_IDLE;
    }

    /** Returns a slot to the pool; into quarantine if its command is still under way. */
    void returnSlot(int slot) {
        if (isUnderWay(slot)) {
            slots.quarantine(slot);
        } else {
            slots.release(slot);
        }
    }

    private int stateOf(int slot) {
        return RawMemory.getIntAcquire(base + SessionArea.slotOffset(slot) + SessionArea.STATE);
    }

    /**
     * Ends every current and later wait with {@link Outcome#LOST}, unless the node has completed the command. Any thread; a second call
     * does nothing.
     */
    synchronized void lose() {
        if (lost) {
            return;
        }
        lost = true;
        slots.close();
        polledWaits.close();
        watched.lose();
        for (int slot = 0; slot < area.slots(); slot++) {
            long state = base + SessionArea.slotOffset(slot) + SessionArea.STATE;
            if (RawMemory.compareAndSetInt(state, SessionArea.STATE_SLEEPING, SessionArea.STATE_LOST)) {
                Futex.wake(state, 1);
            }
        }
    }

    /**
     * Calls {@link #lose}, waits until no thread uses the memory, and unmaps it. One thread.
     *
     * @return false when a thread still used it at the deadline; the memory stays mapped then
     */
    boolean close(long deadlineNs) {
        lose();
        if (!slots.awaitAllReturned(deadlineNs) || !watched.awaitEnd(deadlineNs)) {
            return false;
        }
        synchronized (this) {
            unmapped = true;
            memory.close();
        }
        return true;
    }

    /** How often the node took locks of this session away; -1 after the end of the session, which took all. Any thread, no slot. */
    synchronized long locksLost() {
        return unmapped ? -1 : RawMemory.getLongAcquire(base + SessionArea.LOCKS_LOST);
    }
}
