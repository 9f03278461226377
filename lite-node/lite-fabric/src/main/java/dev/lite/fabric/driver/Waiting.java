package dev.lite.fabric.driver;

import dev.lite.os.Epoll;
import dev.lite.os.EventFd;
import dev.lite.os.OsException;
import dev.lite.os.Pollable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * How threads wait for a fabric whose news come from one source: a descriptor, which may be a set of many. Two sets hold the source
 * and a bell each: the poll role waits at the first, whoever stands by at the second, where the source counts only while armed. So
 * a caller that waits for its answer polls itself, and what arrives meanwhile wakes nobody else.
 *
 * <p>Taking the poll role is no system call, and giving it up is none unless the source had something meanwhile: who stands by
 * looks at a flag before it believes the system, which tells it of the source once and then waits to be asked again. The system
 * call that spares it even that is made by {@link #settle}, by drivers whose source has something at every turn.
 */
public final class Waiting implements AutoCloseable {
    private static final long BELL = -1;
    private static final long SOURCE = 0;

    private final Stage polling;
    private final Stage standingBy;
    private final long sleepNsMax;
    private volatile @Nullable Pollable source;

    /** Whether the source ends {@link #standBy}. Written by the poll role. */
    private volatile boolean armed;

    /**
     * Whether the system was asked to tell who stands by of the source, and has not told. Who arms sets {@link #armed} before it looks
     * at this; who stands by clears this before it looks at that: so one of the two sees the other.
     */
    private volatile boolean watching;

    /** Whether {@link #standBy} is to return whatever the source says. */
    private final AtomicBoolean called = new AtomicBoolean();

    /** A set to wait at, and its bell. Rung once until somebody waited. */
    private static final class Stage implements AutoCloseable {
        private final AtomicBoolean rung = new AtomicBoolean();
        private final EventFd bell = EventFd.create();
        final Epoll set;

        Stage() {
            Epoll made;
            try {
                made = Epoll.create();
            } catch (OsException e) {
                bell.close();
                throw e;
            }
            set = made;
            set.add(bell, Epoll.IN, BELL);
        }

        void ring() {
            if (!rung.getAndSet(true)) {
                bell.signal();
            }
        }

        /** Whether the source has something. */
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

    private Waiting(Stage polling, Stage standingBy, long sleepNsMax) {
        this.polling = polling;
        this.standingBy = standingBy;
        this.sleepNsMax = sleepNsMax;
    }

    /**
     * Disarmed, and without a source.
     *
     * @param sleepNsMax how long a wait lasts at most, whatever is asked for
     */
    public static Waiting open(long sleepNsMax) {
        var polling = new Stage();
        try {
            return new Waiting(polling, new Stage(), sleepNsMax);
        } catch (OsException e) {
            polling.close();
            throw e;
        }
    }

    /** From now on there is a source, which stays the caller's. Once, and before anybody waits for it. */
    public void watch(Pollable news) {
        polling.set.add(news, Epoll.IN, SOURCE);
        standingBy.set.add(news, 0, SOURCE);
        source = news;
        if (armed) {
            watchOnce();
        }
    }

    /** The poll role waits; whether the source has something. */
    public boolean await(long timeoutNs) {
        return polling.await(Math.min(timeoutNs, sleepNsMax));
    }

    /** Another thread waits; whether it was called or the source has something, not only its time is over. */
    public boolean standBy(long timeoutNs) {
        if (armed && !watching) {
            // What it was told of last time is still there, perhaps, because whoever armed had the poll role still.
            watchOnce();
        }
        // Whoever calls sets the flag before it rings.
        boolean told = !called.get() && standingBy.await(Math.min(timeoutNs, sleepNsMax));
        if (told) {
            watching = false;
        }
        return called.getAndSet(false) || (told && armed);
    }

    /** Poll role: from now on the source ends {@link #standBy}, also by what it has already. */
    public void arm() {
        armed = true;
        if (!watching) {
            watchOnce();
        }
    }

    /** At worst, when another thread disarms meanwhile, who stands by is told once in vain. */
    private void watchOnce() {
        var watched = source;
        if (watched != null) {
            watching = true;
            standingBy.set.modify(watched, Epoll.IN | Epoll.ONCE, SOURCE);
        }
    }

    /** Poll role: from now on it does not. */
    public void disarm() {
        armed = false;
    }

    /** Poll role, disarmed: from now on what comes does not even take time from who stands by. */
    public void settle() {
        var watched = source;
        if (watching && watched != null) {
            watching = false;
            standingBy.set.modify(watched, 0, SOURCE);
        }
    }

    /** Ends {@link #standBy}. Any thread. */
    public void wakeStandBy() {
        called.set(true);
        standingBy.ring();
    }

    /** Makes {@link #standBy} return false before its time is over, unless it has a reason to return true. Any thread. */
    public void nudgeStandBy() {
        standingBy.ring();
    }

    /** Ends both waits. Any thread. */
    public void wakeAll() {
        polling.ring();
        wakeStandBy();
    }

    /** Closes what it made; nobody waits any more. */
    @Override
    public void close() {
        polling.close();
        standingBy.close();
    }
}
