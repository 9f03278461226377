package dev.lite.session.channel;

import dev.lite.os.Futex;
import dev.lite.os.RawMemory;

/**
 * The submitted bits and the doorbell of a channel. The thread is in the memory; see {@link ChannelMemory}. Keeps no state but the
 * place where the search for bits begins, so that slots take turns.
 */
final class RequestBell {
    static final int NOBODY_SLEEPS = 0;
    static final int RING = 1;
    static final int AWAKE = 2;

    /** There is no request. */
    static final int NONE = -1;

    private final long submitted;
    private final long doorbell;
    /** The slot after the one that was taken last. Updates may be lost, which costs only fairness. */
    private int first;

    RequestBell(long submitted, long doorbell) {
        this.submitted = submitted;
        this.doorbell = doorbell;
    }

    /** Caller: submits its slot, and wakes a server thread if none is awake. Returns whether it did. */
    boolean submit(int slot) {
        // The owner of a slot submits it again only after the server has cleared its bit, so an addition is a bitwise
        // or. It is a full fence, too.
        RawMemory.getAndAddLong(submitted, 1L << slot);
        return RawMemory.getIntVolatile(doorbell) == RING && ring();
    }

    private boolean ring() {
        if (!RawMemory.compareAndSetInt(doorbell, RING, AWAKE)) {
            return false; // another thread rings
        }
        int unused = Futex.wake(doorbell, 1);
        return true;
    }

    /** Wakes one more server thread, if one sleeps: those that are awake may be busy for long. */
    void ringAgain() {
        if (RawMemory.getIntVolatile(doorbell) == NOBODY_SLEEPS) {
            return;
        }
        RawMemory.compareAndSetInt(doorbell, RING, AWAKE);
        if (Futex.wake(doorbell, 1) == 0 && RawMemory.compareAndSetInt(doorbell, AWAKE, NOBODY_SLEEPS)) {
            // A thread may have announced AWAKE before and fallen asleep since: nobody would wake it any more.
            int unused = Futex.wake(doorbell, Integer.MAX_VALUE);
        }
    }

    /** Server: the submitted bits, also those that belong to no slot. */
    long bits() {
        return RawMemory.getLongVolatile(submitted);
    }

    /** Server: takes the bit of one slot, in turns. Never blocks. */
    int take() {
        for (int tries = 0; tries < ChannelMemory.TRIES_MAX; tries++) {
            long bits = bits();
            if (bits == 0) {
                return NONE;
            }
            int begin = first;
            int slot = (begin + Long.numberOfTrailingZeros(Long.rotateRight(bits, begin))) & (Long.SIZE - 1);
            if (RawMemory.compareAndSetLong(submitted, bits, bits & ~(1L << slot))) {
                first = slot + 1;
                return slot;
            }
        }
        return NONE; // other threads submit and take meanwhile: the caller of this method checks again
    }

    /**
     * Server: announces that this thread will sleep while the doorbell is {@link #RING}, or {@link #AWAKE} if another thread is awake.
     *
     * @param others whether another thread of the server is awake and polls for requests
     * @return the value of the doorbell with which it may sleep; 0: something is submitted, or the channel has ended
     */
    int announce(boolean others) {
        int announced = others ? AWAKE : RING;
        for (int tries = 0; tries < ChannelMemory.TRIES_MAX; tries++) {
            int seen = RawMemory.getIntVolatile(doorbell);
            if (!isValid(seen)) {
                return 0; // the end of the channel must stay visible
            }
            if (RawMemory.compareAndSetInt(doorbell, seen, announced)) { // a full fence before the check
                return bits() == 0 ? announced : 0;
            }
        }
        return 0;
    }

    /** The doorbell, for a check: one read. */
    int value() {
        return RawMemory.getIntVolatile(doorbell);
    }

    static boolean isValid(int doorbell) {
        return doorbell >= NOBODY_SLEEPS && doorbell <= AWAKE;
    }
}
