package dev.lite.fabric.tcp;

import dev.lite.os.Epoll;
import dev.lite.os.EventFd;
import dev.lite.os.OsException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * How threads wait for a fabric. One set holds all sockets. Two further sets hold that one and a bell: the poll role waits at the first,
 * whoever stands by at the second, where the sockets count only while armed. So a caller that waits for its answer polls
 * itself, and what arrives meanwhile wakes nobody else; taking the poll role over or giving it up is one system call.
 */
final class Waiting implements AutoCloseable {
    private static final long BELL = -1;
    private static final long SOCKETS = 0;

    private final Epoll sockets;
    private final Stage polling;
    private final Stage standingBy;
    private final long sleepNsMax;

    /** Poll role. */
    private boolean armed;

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

        void await(long timeoutNs) {
            int ready = set.await(timeoutNs);
            for (int i = 0; i < ready; i++) {
                if (set.key(i) == BELL) {
                    // In this order: a ring in between is this wait's, one after it signals again.
                    bell.drain();
                    rung.set(false);
                }
            }
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
        polling.await(Math.min(timeoutNs, sleepNsMax));
    }

    /** Another thread waits. */
    void standBy(long timeoutNs) {
        standingBy.await(Math.min(timeoutNs, sleepNsMax));
    }

    /** Poll role: from now on sockets end {@link #standBy}. */
    void arm() {
        if (!armed) {
            armed = true;
            standingBy.set.modify(sockets, Epoll.IN, SOCKETS);
        }
    }

    /** Poll role: from now on they do not. */
    void disarm() {
        if (armed) {
            armed = false;
            standingBy.set.modify(sockets, 0, SOCKETS);
        }
    }

    /** Any thread. */
    void wakeStandBy() {
        standingBy.ring();
    }

    /** Any thread. */
    void wakeAll() {
        polling.ring();
        standingBy.ring();
    }

    @Override
    public void close() {
        polling.close();
        standingBy.close();
        sockets.close();
    }
}
