package dev.lite.fabric.tcp;

import dev.lite.os.Epoll;
import dev.lite.os.EventFd;
import dev.lite.os.OsException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * How threads wait for a fabric. One set holds all sockets. Two further sets hold that one and a bell: the poll role waits at the first,
 * whoever stands by at the second, where the sockets count only while armed. So a caller that waits for its answer polls
 * itself, and what arrives meanwhile wakes nobody else.
 *
 * <p>Giving the poll role up is one system call. Taking it is none: who stands by looks at a flag before it believes the system,
 * which tells it of the sockets once and then waits to be armed again. The system call that spares it even that is made by
 * {@link #settle}, when nothing else is to be done.
 */
final class Waiting implements AutoCloseable {
    private static final long BELL = -1;
    private static final long SOCKETS = 0;

    private final Epoll sockets;
    private final Stage polling;
    private final Stage standingBy;
    private final long sleepNsMax;

    /** Whether sockets end {@link #standBy}. Written by the poll role. */
    private volatile boolean armed;

    /** Poll role: whether the system may still tell who stands by of the sockets. */
    private boolean watching;

    /** Whoever stands by: whether the system told of the sockets, and so does no more. */
    private boolean told;

    /** Whether {@link #standBy} is to return whatever the sockets say. */
    private final AtomicBoolean called = new AtomicBoolean();

    /** A set to wait at, and its bell. Rung once until somebody waited. */
    private static final class Stage implements AutoCloseable {
        private final AtomicBoolean rung = new AtomicBoolean();
        private final EventFd bell = EventFd.create();
        final Epoll set;

        Stage(Epoll sockets, int interest) {
            Epoll made;
            try {
                made = Epoll.create();
            } catch (OsException e) {
                bell.close();
                throw e;
            }
            set = made;
            set.add(bell, Epoll.IN, BELL);
            set.add(sockets, interest, SOCKETS);
        }

        void ring() {
            if (!rung.getAndSet(true)) {
                bell.signal();
            }
        }

        /** Whether the sockets have something. */
        boolean await(long timeoutNs) {
            boolean some = false;
            int ready = set.await(timeoutNs);
            for (int i = 0; i < ready; i++) {
                if (set.key(i) == BELL) {
                    // In this order: a ring in between is this wait's, one after it signals again.
                    bell.drain();
                    rung.set(false);
                } else {
                    some = true;
                }
            }
            return some;
        }

        @Override
        public void close() {
            set.close();
            bell.close();
        }
    }

    private Waiting(Epoll sockets, Stage polling, Stage standingBy, long sleepNsMax) {
        this.sockets = sockets;
        this.polling = polling;
        this.standingBy = standingBy;
        this.sleepNsMax = sleepNsMax;
    }

    /**
     * Disarmed, and without a socket.
     *
     * @param sleepNsMax how long a wait lasts at most, whatever is asked for
     */
    static Waiting open(long sleepNsMax) {
        var sockets = Epoll.create();
        Stage polling = null;
        try {
            polling = new Stage(sockets, Epoll.IN);
            return new Waiting(sockets, polling, new Stage(sockets, 0), sleepNsMax);
        } catch (OsException e) {
            if (polling != null) {
                polling.close();
            }
            sockets.close();
            throw e;
        }
    }

    /** All sockets. Waited at by the poll role only, and then for no time. */
    Epoll sockets() {
        return sockets;
    }

    /** The poll role waits. */
    void await(long timeoutNs) {
        boolean unused = polling.await(Math.min(timeoutNs, sleepNsMax));
    }

    /** Another thread waits; whether it was called or the sockets have something, not only its time is over. */
    boolean standBy(long timeoutNs) {
        if (told && armed) {
            // What it was told of last time is still there, perhaps, because whoever armed had the poll role still.
            told = false;
            watchOnce();
        }
        // Whoever calls sets the flag before it rings, and arms before the system tells.
        boolean some = !called.get() && standingBy.await(Math.min(timeoutNs, sleepNsMax));
        told |= some;
        return called.getAndSet(false) || (some && armed);
    }

    /** Poll role: from now on sockets end {@link #standBy}, also by what is there already. */
    void arm() {
        armed = true;
        watching = true;
        watchOnce();
    }

    /** At worst, when another thread disarms meanwhile, who stands by is told once in vain. */
    private void watchOnce() {
        standingBy.set.modify(sockets, Epoll.IN | Epoll.ONCE, SOCKETS);
    }

    /** Poll role: from now on they do not. */
    void disarm() {
        armed = false;
    }

    /** Poll role, disarmed: from now on what comes does not even take time from who stands by. */
    void settle() {
        if (watching) {
            watching = false;
            standingBy.set.modify(sockets, 0, SOCKETS);
        }
    }

    /** Ends {@link #standBy}. Any thread. */
    void wakeStandBy() {
        called.set(true);
        standingBy.ring();
    }

    /** Makes {@link #standBy} return false before its time is over, unless it has a reason to return true. Any thread. */
    void nudgeStandBy() {
        standingBy.ring();
    }

    /** Ends both waits. Any thread. */
    void wakeAll() {
        polling.ring();
        wakeStandBy();
    }

    @Override
    public void close() {
        polling.close();
        standingBy.close();
        sockets.close();
    }
}
