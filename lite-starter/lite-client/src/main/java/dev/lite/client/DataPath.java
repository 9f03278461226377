package dev.lite.client;

import dev.lite.api.LiteException;
import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SpinBudget;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The client's side of {@link SessionArea}. A thread acquires a slot from {@link #slots}, fills {@link #window}, calls
 * {@link #submit}, then {@link #await}, and gives the slot back: released when the node completed it, quarantined otherwise.
 * Nothing is allocated on that way. Every method with a slot is for the slot's owner only.
 */
final class DataPath {
    /** How a wait ended. */
    enum Outcome {
        /** The node completed the command. */
        DONE,
        /** The deadline passed; the node may still complete it. */
        TIMED_OUT,
        /** The session ended. */
        LOST
    }

    private static final long SLEEP_NS_MAX = TimeUnit.SECONDS.toNanos(1);
    private static final long PARK_NS_MIN = TimeUnit.MICROSECONDS.toNanos(10);
    private static final long PARK_NS_MAX = TimeUnit.MILLISECONDS.toNanos(1);

    private final SharedMemory memory;
    private final SessionArea area;
    private final long base;
    private final SpinBudget spins;
    private final SlotPool slots;

    private volatile boolean lost;

    /** Takes the memory over. */
    DataPath(SharedMemory memory, SessionArea area, int spins) {
        this.memory = memory;
        this.area = area;
        this.spins = new SpinBudget(spins);
        base = memory.address();
        slots = new SlotPool(area.slots(), slot -> stateOf(slot) == SessionArea.STATE_DONE);
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

    /** Hands a command to the node. From here until it is done the window is the node's. */
    void submit(int slot, int op, long lh, long offset, long length, long operand0, long operand1) {
        long at = base + SessionArea.slotOffset(slot);
        RawMemory.putInt(at + SessionArea.OP, op);
        RawMemory.putLong(at + SessionArea.LH, lh);
        RawMemory.putLong(at + SessionArea.OFFSET, offset);
        RawMemory.putLong(at + SessionArea.LENGTH, length);
        RawMemory.putLong(at + SessionArea.OPERAND0, operand0);
        RawMemory.putLong(at + SessionArea.OPERAND1, operand1);
        RawMemory.putIntRelease(at + SessionArea.STATE, SessionArea.STATE_PENDING);
        // A full fence: all of the above before the bit, and the bit before the look at the doorbell. The node's thread
        // sets the doorbell before its last look at the bits, so one of the two sees the other.
        RawMemory.getAndAddLong(base + SessionArea.SUBMITTED, 1L << slot);
        if (RawMemory.getIntVolatile(base + SessionArea.DOORBELL) == SessionArea.DOORBELL_SLEEPING
                && RawMemory.compareAndSetInt(
                        base + SessionArea.DOORBELL, SessionArea.DOORBELL_SLEEPING, SessionArea.DOORBELL_AWAKE)) {
            Futex.wake(base + SessionArea.DOORBELL, 1);
        }
    }

    /**
     * Waits for the node: spins, then sleeps.
     *
     * @param deadlineNs of {@link System#nanoTime}
     */
    Outcome await(int slot, long deadlineNs) {
        for (int i = spins.spins(); i > 0; i--) {
            if (stateOf(slot) == SessionArea.STATE_DONE) {
                spins.helped();
                return Outcome.DONE;
            }
            Thread.onSpinWait();
        }
        spins.wasInVain();
        return Thread.currentThread().isVirtual() ? awaitParked(slot, deadlineNs) : awaitAsleep(slot, deadlineNs);
    }

    private Outcome awaitAsleep(int slot, long deadlineNs) {
        long state = base + SessionArea.slotOffset(slot) + SessionArea.STATE;
        // Announced before the look at lost, which is set before announcements are looked for: none is missed.
        RawMemory.compareAndSetInt(state, SessionArea.STATE_PENDING, SessionArea.STATE_SLEEPING);
        while (true) {
            Outcome outcome = outcome(slot, deadlineNs);
            if (outcome != null) {
                return outcome;
            }
            long leftNs = Math.clamp(deadlineNs - System.nanoTime(), 1, SLEEP_NS_MAX);
            Futex.await(state, SessionArea.STATE_SLEEPING, leftNs);
        }
    }

    /** A virtual thread must not block its carrier in the kernel; it looks from time to time. */
    private Outcome awaitParked(int slot, long deadlineNs) {
        long parkNs = PARK_NS_MIN;
        while (true) {
            Outcome outcome = outcome(slot, deadlineNs);
            if (outcome != null) {
                return outcome;
            }
            LockSupport.parkNanos(Math.clamp(deadlineNs - System.nanoTime(), 1, parkNs));
            parkNs = Math.min(2 * parkNs, PARK_NS_MAX);
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

    /** The result of a command that is done. */
    long result(int slot) {
        return RawMemory.getLong(base + SessionArea.slotOffset(slot) + SessionArea.RESULT);
    }

    /** The number of the call that a command received. */
    long receivedCall(int slot) {
        return RawMemory.getLong(base + SessionArea.slotOffset(slot) + SessionArea.CALL);
    }

    /** Who made it. */
    long receivedOrigin(int slot) {
        return RawMemory.getLong(base + SessionArea.slotOffset(slot) + SessionArea.ORIGIN);
    }

    /** Throws what the node said about a command that is done, if it failed. */
    void check(int slot) {
        int status = RawMemory.getInt(base + SessionArea.slotOffset(slot) + SessionArea.STATUS);
        if (status != 0) {
            throw failure(slot, status);
        }
    }

    private LiteException failure(int slot, int status) {
        byte[] utf8 = new byte[Math.clamp(result(slot), 0, area.windowBytes())];
        MemorySegment.copy(RawMemory.all(), ValueLayout.JAVA_BYTE, window(slot), utf8, 0, utf8.length);
        return LiteException.Code.exception(status, new String(utf8, StandardCharsets.UTF_8));
    }

    /** Whether no command of the slot is under way. */
    boolean isIdle(int slot) {
        int state = stateOf(slot);
        return state == SessionArea.STATE_DONE || state == SessionArea.STATE_IDLE;
    }

    private int stateOf(int slot) {
        return RawMemory.getIntAcquire(base + SessionArea.slotOffset(slot) + SessionArea.STATE);
    }

    /**
     * Ends every wait, now and later, with {@link Outcome#LOST}, unless the node had completed the command. Any thread; a
     * second call does nothing.
     */
    synchronized void lose() {
        if (lost) {
            return;
        }
        lost = true;
        slots.close();
        for (int slot = 0; slot < area.slots(); slot++) {
            long state = base + SessionArea.slotOffset(slot) + SessionArea.STATE;
            if (RawMemory.compareAndSetInt(state, SessionArea.STATE_SLEEPING, SessionArea.STATE_LOST)) {
                Futex.wake(state, 1);
            }
        }
    }

    /**
     * Unmaps the memory once no thread uses it, after {@link #lose}. One thread.
     *
     * @return false when a thread still did at the deadline; the memory stays mapped then
     */
    boolean close(long deadlineNs) {
        lose();
        if (!slots.awaitAllGivenBack(deadlineNs)) {
            return false;
        }
        memory.close();
        return true;
    }
}
