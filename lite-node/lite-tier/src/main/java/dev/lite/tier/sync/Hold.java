package dev.lite.tier.sync;

import dev.lite.api.HeldLock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** One ticket, from its draw to its release. Small (32 bytes), because the fast path allocates one. */
sealed class Hold implements HeldLock {
    static final int WAITING = 0;
    static final int HELD = 1;
    /** Released, abandoned, or lost with its session. */
    static final int OVER = 2;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Hold.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The ticket's session and lock. */
    private final LockUser user;

    /** The value of the word while this ticket holds the lock and no later ticket was drawn; the release expects it. */
    private final long alone;

    @SuppressWarnings("unused") // accessed through STATE: a volatile store would add a fence to the fast path
    private int state;

    /** {@link NodeLock#generation} before the ticket was drawn; changed under the lock's monitor while it waits. */
    private volatile int generation;

    Hold(LockUser user, long alone, int state, int generation) {
        this.user = user;
        this.alone = alone;
        this.state = state;
        this.generation = generation;
    }

    NodeLock lock() {
        return user.lock();
    }

    SessionSync session() {
        return user.session();
    }

    long ticket() {
        return LockWord.next(alone) - 1;
    }

    long alone() {
        return alone;
    }

    /** Moves a waiting ticket to the current generation: it survives the loss of held locks. */
    void renew(int present) {
        generation = present;
    }

    int state() {
        return (int) STATE.getAcquire(this);
    }

    void setState(int next) {
        STATE.setRelease(this, next);
    }

    @Override
    public String name() {
        return lock().name();
    }

    @Override
    public long fencingToken() {
        return ticket() + 1;
    }

    @Override
    public boolean isHeld() {
        return state() == HELD && session().isOpen() && lock().generation() == generation;
    }

    @Override
    public void close() {
        if (state() == HELD) {
            lock().release(this);
        }
    }

    /** Does {@link #close} if it need not wait for another node. Otherwise returns false, and the lock stays held. */
    boolean closeAtOnce() {
        return state() != HELD || lock().releaseIfAtOnce(this);
    }

    @Override
    public String toString() {
        return "HeldLock[%s, token %d, %s]".formatted(name(), fencingToken(), isHeld() ? "held" : "over");
    }

    /** A ticket that was drawn or taken over on the slow path. */
    static final class Queued extends Hold {
        /** The thread that drew the ticket and may wait. */
        final Thread waiter = Thread.currentThread();

        /** Whether only the holder was ahead of this ticket when it was drawn. */
        final boolean isNext;

        /** Whether another thread watches the word for a waiting virtual thread. */
        volatile boolean watched;

        /** Whether the home knows of this ticket. Only for the waiting thread. */
        boolean reported;

        /**
         * {@link NodeLock#generation} before this node last learned that the ticket's turn is not over; under the lock's
         * monitor.
         */
        int confirmed;

        Queued(LockUser user, long ticket, int state, int generation, boolean isNext) {
            super(user, LockWord.heldAlone(ticket), state, generation);
            this.isNext = isNext;
            confirmed = generation;
        }
    }
}
