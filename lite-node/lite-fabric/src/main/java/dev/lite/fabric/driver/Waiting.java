package dev.lite.fabric.driver;

import dev.lite.os.Epoll;
import dev.lite.os.EventFd;
import dev.lite.os.OsException;
import dev.lite.os.Pollable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Waiting for a fabric that is driven by one descriptor, its source, which may be an epoll set. The thread with the poll role
 * blocks on one epoll set, the standby thread on another. Each set contains the source and an event descriptor, its bell. The
 * source ends {@link #awaitArmed} only while armed, so a caller that polls for its answer itself wakes no other thread.
 *
 * <p><b>Cost.</b> Taking the poll role makes no system call. Giving it up makes one only if the source reported something to the
 * standby thread since: the source is registered there one-shot, and the thread checks {@link #armed} when it wakes.
 * {@link #settle} removes the registration, for drivers whose source is readable most of the time.
 */
public final class Waiting implements AutoCloseable {
    private static final long BELL = -1;
    private static final long SOURCE = 0;

    private final Stage polling;
    private final Stage standingBy;
    private final long sleepNsMax;
    private volatile @Nullable Pollable source;

    /** Whether the source ends {@link #awaitArmed}. Written by the poll role. */
    private volatile boolean armed;

    /** Whether {@link #armLater} armed. Written by the poll role, before {@link #armed}. */
    private volatile boolean later;

    /**
     * Whether the one-shot registration of the source for {@link #awaitArmed} has not fired yet. {@link #arm} sets {@link #armed} before it reads
     * this field, and {@link #awaitArmed} clears this field before it reads {@link #armed}. So one of the two sees the other's write.
     */
    private volatile boolean watching;

    /** Whether {@link #awaitArmed} is to return, regardless of the source. */
    private final AtomicBoolean called = new AtomicBoolean();

    /** An epoll set and its bell, which signals once until a thread has waited. */
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

        /** Blocks; returns whether the source is readable. */
        boolean await(long timeoutNs) {
            boolean some = false;
            int ready = set.await(timeoutNs);
            for (int i = 0; i < ready; i++) {
                if (set.key(i) == BELL) {
                    // The order matters: a ring between the two ends this wait; a later ring signals again.
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
     * Opens both sets, disarmed and without a source.
     *
     * @param sleepNsMax upper limit of every wait, in nanoseconds, even if a call has a longer timeout
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

    /** Sets the source; the caller keeps its ownership. Call once, before any thread waits for it. */
    public void watch(Pollable news) {
        polling.set.add(news, Epoll.IN, SOURCE);
        standingBy.set.add(news, 0, SOURCE);
        source = news;
        if (armed) {
            watchOnce();
        }
    }

    /** Poll role: blocks; returns whether the source is readable. */
    public boolean await(long timeoutNs) {
        return polling.await(Math.min(timeoutNs, sleepNsMax));
    }

    /** The standby thread blocks; returns false if only the timeout has passed, or after {@link #nudgeStandby}. */
    public boolean awaitArmed(long timeoutNs) {
        if (armed && !later && !watching) {
            // The source may still be readable: it fired while the thread that armed still had the poll role.
            watchOnce();
        }
        // wakeStandby sets the flag before it rings.
        boolean fired = !called.get() && standingBy.await(Math.min(timeoutNs, sleepNsMax));
        if (fired) {
            watching = false;
        }
        return called.getAndSet(false) || (fired && armed);
    }

    /** Poll role: from now on the source ends {@link #awaitArmed}, also if it is readable already. */
    public void arm() {
        later = false;
        armed = true;
        if (!watching) {
            watchOnce();
        }
    }

    /** Poll role: like {@link #arm} without a system call; the source need not end {@link #awaitArmed} before {@link #armNow}. */
    public void armLater() {
        later = true;
        armed = true;
    }

    /** Does what {@link #armLater} left out, if the source is still armed. Standby thread. */
    public void armNow() {
        if (armed && !watching) {
            watchOnce();
        }
    }

    /** If another thread disarms meanwhile, the standby thread wakes up at most once without need. */
    private synchronized void watchOnce() {
        var watched = source;
        if (watched != null && !watching) {
            watching = true;
            standingBy.set.modify(watched, Epoll.IN | Epoll.ONCE, SOURCE);
        }
    }

    /** Poll role: from now on the source does not end {@link #awaitArmed}. */
    public void disarm() {
        armed = false;
    }

    /** Poll role, disarmed: from now on the source does not wake the standby thread at all. */
    public void settle() {
        if (watching) {
            unwatch();
        }
    }

    private synchronized void unwatch() {
        var watched = source;
        if (watching && watched != null) {
            watching = false;
            standingBy.set.modify(watched, 0, SOURCE);
        }
    }

    /** Ends {@link #awaitArmed}. Any thread. */
    public void wakeStandby() {
        called.set(true);
        standingBy.ring();
    }

    /** Makes {@link #awaitArmed} return early, with false unless it has another reason to return. Any thread. */
    public void nudgeStandby() {
        standingBy.ring();
    }

    /** Ends both waits. Any thread. */
    public void wakeAll() {
        polling.ring();
        wakeStandby();
    }

    /** Closes both sets and bells. No thread waits any more; the source stays open. */
    @Override
    public void close() {
        polling.close();
        standingBy.close();
    }
}
