package dev.lite.session.protocol;

import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;

/**
 * The submission word and the doorbell of a {@link SessionArea}. The client {@linkplain #submit submits}; the node {@linkplain #fetch
 * fetches} and, when there is nothing, blocks until it is woken: {@link #arm}, {@link #await}, {@link #disarm}. One system call per
 * wake-up, none while the node polls.
 *
 * <p>The client sets a bit, then reads the doorbell. The node sets the doorbell, then reads the bits, and blocks only if there are
 * none. A full fence separates the two steps on each side, so at least one side sees the other's write, and no wake-up is lost.
 *
 * <p>Any thread. Works on raw memory, which must be mapped; owns nothing. The other side may write any value at any time.
 */
public final class Doorbell {
    private final long submitted;
    private final long doorbell;

    /**
     * The doorbell of one area.
     *
     * @param area where the area is mapped
     */
    public Doorbell(long area) {
        submitted = area + SessionArea.SUBMITTED;
        doorbell = area + SessionArea.DOORBELL;
    }

    /**
     * Client: submits the command in a slot of the caller, and wakes the node if it is blocked or about to block. What the caller wrote
     * before, the node sees after it has fetched the slot.
     *
     * @return whether the node was woken
     */
    public boolean submit(int slot) {
        // An atomic addition is a full fence: the bit is visible before the doorbell is read.
        RawMemory.getAndAddLong(submitted, 1L << slot);
        // Of several clients one wakes the node.
        if (RawMemory.getIntVolatile(doorbell) == SessionArea.DOORBELL_SLEEPING
                && RawMemory.compareAndSetInt(doorbell, SessionArea.DOORBELL_SLEEPING, SessionArea.DOORBELL_AWAKE)) {
            Futex.wake(doorbell, 1);
            return true;
        }
        return false;
    }

    /** Node: takes the bits of all submitted slots, and leaves 0. Writes only if there are any. */
    public long fetch() {
        return RawMemory.getLongVolatile(submitted) == 0 ? 0 : RawMemory.getAndSetLong(submitted, 0);
    }

    /**
     * Node: announces that it will block.
     *
     * @return whether it may, because no slot is submitted
     */
    public boolean arm() {
        RawMemory.putIntVolatile(doorbell, SessionArea.DOORBELL_SLEEPING);
        return RawMemory.getLongVolatile(submitted) == 0;
    }

    /** Node: blocks until it is woken after {@link #arm}, or the time has passed. May return early. */
    public void await(long timeoutNs) {
        Futex.await(doorbell, SessionArea.DOORBELL_SLEEPING, timeoutNs);
    }

    /** Node: {@link #await} together with other doorbells: adds this one to what a thread sleeps on. */
    public void addTo(FutexWords words) {
        words.add(doorbell, SessionArea.DOORBELL_SLEEPING);
    }

    /** Node: whether it was woken, or has ended {@link #arm}. */
    public boolean isRung() {
        return RawMemory.getIntVolatile(doorbell) != SessionArea.DOORBELL_SLEEPING;
    }

    /** Node: ends {@link #arm}. */
    public void disarm() {
        RawMemory.putIntVolatile(doorbell, SessionArea.DOORBELL_AWAKE);
    }

    /** Node: wakes its own thread that is blocked, or about to block. */
    public void ring() {
        disarm();
        Futex.wake(doorbell, 1);
    }
}
