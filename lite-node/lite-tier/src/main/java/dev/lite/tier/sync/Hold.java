package dev.lite.tier.sync;

import dev.lite.api.HeldLock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** One ticket, from its draw to its release. */
final class Hold implements HeldLock {
    static final int WAITING = 0;
    static final int HELD = 1;
    /** Released, given up, or taken away with its session. */
    static final int OVER = 2;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Hold.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final NodeLock lock;
    final SessionSync session;

    final long ticket;

    @SuppressWarnings("unused") // through STATE: a volatile store would cost the uncontended path a fence
    private int state;

    /** Who drew or took over the ticket beside the short way, and may wait; written before anybody else sees the hold. */
    @Nullable
    Thread waiter;

    /** {@link NodeLock#generation} before the ticket was drawn; changed under the lock's monitor while it waits. */
    private volatile int generation;

    Hold(NodeLock lock, SessionSync session, long ticket, int state, int generation) {
        this.lock = lock;
        this.session = session;
        this.ticket = ticket;
        this.state = state;
        this.generation = generation;
    }

    /** It waits, so it outlives the end of what is held. */
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
        return lock.name();
    }

    @Override
    public long fencingToken() {
        return ticket + 1;
    }

    @Override
    public boolean isHeld() {
        return state() == HELD && session.isOpen() && lock.generation() == generation;
    }

    @Override
    public void close() {
        if (state() == HELD) {
            lock.release(this);
        }
    }

    /** {@link #close} if nobody waits; false, and it stays held, when somebody does. */
    boolean closeAlone() {
        return state() != HELD || lock.releaseIfAlone(this);
    }

    @Override
    public String toString() {
        return "HeldLock[%s, token %d, %s]".formatted(name(), fencingToken(), isHeld() ? "held" : "over");
    }
}
