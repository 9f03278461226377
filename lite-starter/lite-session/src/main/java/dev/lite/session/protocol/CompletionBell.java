package dev.lite.session.protocol;

import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import java.lang.invoke.VarHandle;

/**
 * How the node of a {@link SessionArea} completes a slot, and how one client thread waits for many slots. The node {@linkplain #done
 * completes} slots. The client's thread checks the states of its slots and, when none is done, blocks until it is woken: {@link #arm},
 * a second check, {@link #await}, {@link #disarm}. One system call per wake-up, however many slots there are; none while the thread is
 * awake.
 *
 * <p>The node sets a state, then reads the bell. The thread sets the bell, then reads the states, and blocks only if no slot is done. A
 * full fence separates the two steps on each side, so at least one side sees the other's write, and no wake-up is lost.
 *
 * <p>Works on raw memory, which must be mapped; owns nothing. The other side may write any value at any time.
 */
public final class CompletionBell {
    private final long area;
    private final long bell;

    /**
     * The bell of one area.
     *
     * @param area where the area is mapped
     */
    public CompletionBell(long area) {
        this.area = area;
        bell = area + SessionArea.BELL;
    }

    /**
     * Node: the slot's command is done, and its status and result are stored. Wakes the thread that waits for it, if it is blocked or
     * about to block. Any thread.
     *
     * @return whether a thread was woken
     */
    public boolean done(int slot) {
        long state = area + SessionArea.slotOffset(slot) + SessionArea.STATE;
        // Atomic: either this thread sees that the waiter is about to block, or the waiter sees that the command is
        // done.
        return switch (RawMemory.getAndSetInt(state, SessionArea.STATE_DONE)) {
            case SessionArea.STATE_SLEEPING -> {
                Futex.wake(state, 1);
                yield true;
            }
            case SessionArea.STATE_WATCHED -> ring();
            default -> false;
        };
    }

    /** Wakes the client's thread if it is blocked or about to block, and returns whether it was. Any thread of either side. */
    public boolean ring() {
        if (RawMemory.getIntVolatile(bell) == SessionArea.BELL_SLEEPING
                && RawMemory.compareAndSetInt(bell, SessionArea.BELL_SLEEPING, SessionArea.BELL_AWAKE)) {
            Futex.wake(bell, 1);
            return true;
        }
        return false;
    }

    /** Client: announces that its thread will block. It must check its slots again before it does. */
    public void arm() {
        RawMemory.putIntVolatile(bell, SessionArea.BELL_SLEEPING);
        VarHandle.fullFence();
    }

    /** Client: blocks until it is woken after {@link #arm}, or the time has passed. May return early. */
    public void await(long timeoutNs) {
        Futex.await(bell, SessionArea.BELL_SLEEPING, timeoutNs);
    }

    /** Client: ends {@link #arm}. */
    public void disarm() {
        RawMemory.putIntVolatile(bell, SessionArea.BELL_AWAKE);
    }

    /**
     * Client: another thread checks the slots, so the node wakes nobody, also if the client's thread is blocked. Ends with {@link #arm},
     * after which that thread must check its slots once more.
     */
    public void take() {
        RawMemory.putIntVolatile(bell, SessionArea.BELL_TAKEN);
        VarHandle.fullFence();
    }

    /** Client: blocks like {@link #await}, after {@link #take} instead of {@link #arm}. */
    public void awaitTaken(long timeoutNs) {
        Futex.await(bell, SessionArea.BELL_TAKEN, timeoutNs);
    }

    /** Client: wakes its thread that is blocked, or about to block, in either way. */
    public void wake() {
        disarm();
        Futex.wake(bell, 1);
    }
}
