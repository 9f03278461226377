package dev.lite.tier.sync;

import dev.lite.api.HeldLock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** One acquisition, from the draw of its ticket to its release. */
final class Hold implements HeldLock {
    /** Its ticket is not known yet. */
    static final int DRAWING = 0;

    static final int WAITING = 1;
    static final int HELD = 2;
    /** Released, given up, or taken away with its session. */
    static final int OVER = 3;

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

    /** Written before the state leaves {@link #DRAWING}. */
    long ticket;

    @SuppressWarnings("unused") // through STATE: a volatile store would cost the uncontended path a fence
    private int state;

    /** Who waits; guarded by the lock's monitor. */
    @Nullable
    Thread waiter;

    Hold(NodeLock lock, SessionSync session) {
        this.lock = lock;
        this.session = session;
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
        return state() == HELD && session.isOpen();
    }

    @Override
    public void close() {
        if (state() == HELD) {
            lock.release(this);
        }
    }

    @Override
    public String toString() {
        return "HeldLock[%s, token %d, %s]".formatted(name(), fencingToken(), isHeld() ? "held" : "over");
    }
}
