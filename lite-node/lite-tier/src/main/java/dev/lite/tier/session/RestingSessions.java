package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.os.Errno;
import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.RepeatingThread;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the doorbells of sessions that have had no command for a while, in place of their data threads. One thread
 * ("lite-session-rest") sleeps on up to {@value #SESSIONS_OF_THREAD} doorbells at once. So applications that are attached and do nothing
 * add no threads. A session that is rung gets its own thread again.
 *
 * <p>Needs futex_waitv (Linux 5.16); without it, no session rests. Any thread may call.
 */
final class RestingSessions implements AutoCloseable {
    /** One word is the thread's own. */
    static final int SESSIONS_OF_THREAD = FutexWords.WORDS_MAX - 1;

    private static final Logger LOG = LoggerFactory.getLogger(RestingSessions.class);

    private final boolean possible = FutexWords.isSupported();

    /** Starts a thread; another one in tests. */
    volatile Consumer<Thread> starter = Thread::start;

    @GuardedBy("this")
    private final List<Watcher> watchers = new ArrayList<>();

    @GuardedBy("this")
    private boolean closed;

    /** Whether sessions can rest on this system. */
    boolean isPossible() {
        return possible;
    }

    /**
     * Watches a session, whose doorbell is armed, until it is rung or {@linkplain #remove removed}.
     *
     * @return false when this object is closed, or the system has no thread left
     */
    synchronized boolean add(SessionWorker worker) {
        if (closed) {
            return false;
        }
        for (Watcher watcher : watchers) {
            if (watcher.add(worker)) {
                return true;
            }
        }
        Watcher another = new Watcher();
        try {
            starter.accept(RepeatingThread.unstarted("lite-session-rest", another::step, LOG::error));
        } catch (OutOfMemoryError e) { // the session keeps its own thread, which is only more expensive
            LOG.debug("no thread for sessions without commands", e);
            return false;
        }
        watchers.add(another);
        return another.add(worker);
    }

    /** Ends {@link #add}. Afterwards the session's memory may be unmapped. */
    synchronized void remove(SessionWorker worker) {
        watchers.forEach(watcher -> watcher.remove(worker));
    }

    /** Ends the threads. */
    @Override
    public synchronized void close() {
        closed = true;
        watchers.forEach(Watcher::close);
    }

    /** One thread's sessions. */
    private static final class Watcher {
        /** Counts the changes, which end the thread's sleep. The garbage collector frees it. */
        private final MemorySegment changes = Arena.ofAuto().allocate(ValueLayout.JAVA_INT);

        private final FutexWords words = new FutexWords();

        @GuardedBy("this")
        private final Set<SessionWorker> resting = new LinkedHashSet<>();

        /** Whether the thread is giving a session its own thread again. If that fails, the session returns. */
        @GuardedBy("this")
        private boolean leaving;

        private volatile boolean ended;

        synchronized boolean add(SessionWorker worker) {
            if (resting.size() + (leaving ? 1 : 0) == SESSIONS_OF_THREAD) {
                return false;
            }
            resting.add(worker);
            changed();
            return true;
        }

        synchronized void remove(SessionWorker worker) {
            if (resting.remove(worker)) {
                changed();
            }
        }

        void close() {
            ended = true;
            changed();
        }

        private void changed() {
            int unused = RawMemory.getAndAddInt(changes.address(), 1);
            int unusedToo = Futex.wake(changes.address(), 1);
        }

        private boolean step() {
            int seen = RawMemory.getIntVolatile(changes.address());
            if (ended) {
                return false;
            }
            SessionWorker rung = takeRung(seen);
            if (rung != null) {
                try {
                    rung.serveAgain(() -> addAgain(rung)); // not under this lock, which a session takes under its own
                } finally {
                    left();
                }
                return true;
            }
            try {
                Futex.Wait unused = words.await(Long.MAX_VALUE);
            } catch (OsException e) {
                if (e.errno() != Errno.EFAULT) {
                    throw e;
                }
                // A session was removed and unmapped meanwhile, which is a change.
            }
            return true;
        }

        /** For the session that is leaving; its place is still free. The thread reads the doorbells again. */
        private synchronized void addAgain(SessionWorker worker) {
            resting.add(worker);
        }

        private synchronized void left() {
            leaving = false;
        }

        /** Removes a session that was rung. Null: there is none, and the words to sleep on are those of all sessions. */
        private synchronized @Nullable SessionWorker takeRung(int seen) {
            words.clear();
            words.add(changes.address(), seen);
            for (SessionWorker worker : resting) {
                if (worker.isRung()) {
                    resting.remove(worker);
                    leaving = true;
                    return worker;
                }
                worker.addDoorbell(words);
            }
            return null;
        }
    }
}
