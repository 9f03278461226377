package dev.lite.client;

import dev.lite.api.LiteTimeoutException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Which receives may hold slots of a session. A receive holds one until a call or a message comes, so without a limit an application
 * with as many functions as slots could do nothing else. Half of the slots may be held for any time. Further receives take turns in a
 * quarter of them, for a short time each. The rest is for operations that end. Any thread.
 */
final class ReceiveSlots {
    static final long TURN_NS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Semaphore lasting;
    private final Semaphore turns;
    /** For receives that do not wait for their turn but try again and again; in one queue with the others they would get none. */
    private final Semaphore polledTurns;

    private final AtomicInteger taken = new AtomicInteger();
    private final IntConsumer takenNow;

    /**
     * @param slots of the session
     * @param takenNow gets the number of places in use, this one included, before a receive acquires its slot
     */
    ReceiveSlots(int slots, IntConsumer takenNow) {
        this.takenNow = takenNow;
        lasting = new Semaphore(slots / 2);
        turns = new Semaphore(Math.max(1, slots / 8), true);
        polledTurns = new Semaphore(Math.max(1, slots / 8));
    }

    /** The right to hold a slot; {@link #giveBack} must follow. */
    enum Place {
        LASTING,
        /** For so long that others wait for it only for a moment. */
        TURN,
        /** Likewise, of {@link #tryTake}. */
        POLLED_TURN;

        /** How long a receive may take. */
        long timeoutNs(long wantedNs) {
            return this == LASTING ? wantedNs : Math.min(TURN_NS, wantedNs);
        }
    }

    /** Takes a lasting place, if there is one. */
    boolean tryTakeLasting() {
        if (!lasting.tryAcquire()) {
            return false;
        }
        count();
        return true;
    }

    private void count() {
        takenNow.accept(taken.incrementAndGet());
    }

    /** Takes a place if there is one now; null: there is none. */
    @Nullable
    Place tryTake() {
        if (tryTakeLasting()) {
            return Place.LASTING;
        }
        if (!polledTurns.tryAcquire()) {
            return null;
        }
        count();
        return Place.POLLED_TURN;
    }

    /**
     * Takes a place. An interrupt does not end the wait; it is kept.
     *
     * @param what for the message
     * @param deadlineNs of {@link System#nanoTime}
     * @throws LiteTimeoutException when no turn came until then
     */
    Place take(String what, long deadlineNs) {
        if (tryTakeLasting()) {
            return Place.LASTING;
        }
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    if (turns.tryAcquire(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS)) {
                        count();
                        return Place.TURN;
                    }
                    throw new LiteTimeoutException(
                            "%s: other receives held all slots that receives may use until the deadline (lite.node.session.slots)"
                                    .formatted(what));
                } catch (InterruptedException kept) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Returns a place. */
    void giveBack(Place place) {
        taken.decrementAndGet();
        switch (place) {
            case LASTING -> lasting.release();
            case TURN -> turns.release();
            case POLLED_TURN -> polledTurns.release();
        }
    }
}
