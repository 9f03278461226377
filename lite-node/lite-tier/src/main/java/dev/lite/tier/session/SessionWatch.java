package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.os.waiting.RepeatingThread;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks the data threads of all sessions every 25 ms. A thread that is still at the same command as at the last check, because a peer
 * does not answer or an LMR is moving, gets a substitute for the commands after it. A command pays only two stores for this.
 *
 * <p>Also ends the calls and receives of all sessions that wait without a thread when their deadline has passed. It wakes for the
 * next one of these deadlines, however many there are.
 *
 * <p>Runs one thread ("lite-session-watch"). After one second without commands in any session it makes no checks, and wakes only for
 * deadlines. Any thread may call.
 */
final class SessionWatch implements AutoCloseable {
    /** Longer than a busy machine usually delays a thread, and short for a command that waits behind a slow one. */
    private static final long TICK_NS = TimeUnit.MILLISECONDS.toNanos(25);

    private static final int IDLE_TICKS = 40;
    private static final long IDLE_NS_MAX = TimeUnit.HOURS.toNanos(1);
    private static final Duration END = Duration.ofSeconds(1);

    private static final Logger log = LoggerFactory.getLogger(SessionWatch.class);

    private final Set<SessionWorker> workers = ConcurrentHashMap.newKeySet();
    private final RestingSessions resting = new RestingSessions();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition wanted = lock.newCondition();

    // Confined to the thread.
    private int idleTicks;
    private long checkedNs = System.nanoTime();

    /** Whether the thread makes no ticks until {@link #wake}; written under the lock, read without. */
    private volatile boolean asleep;

    /** When the thread looks next, by {@link System#nanoTime}; written under the lock, read without. */
    private volatile long nextNs = System.nanoTime();

    @GuardedBy("lock")
    private boolean closed;

    @GuardedBy("lock")
    private @Nullable Thread thread;

    /** Starts the thread. */
    void start() {
        lock.lock();
        try {
            thread = RepeatingThread.unstarted("lite-session-watch", this::step, log::error);
            thread.start();
        } finally {
            lock.unlock();
        }
    }

    /** The sessions without a data thread. */
    RestingSessions resting() {
        return resting;
    }

    void add(SessionWorker worker) {
        workers.add(worker);
        wake();
    }

    void remove(SessionWorker worker) {
        workers.remove(worker);
    }

    /** Called when a data thread has its first command after it was blocked. Costs one read while the watch is awake. */
    void wake() {
        if (asleep) {
            wakeBy(System.nanoTime() + TICK_NS);
        }
    }

    /** Makes the watch look for overdue commands at this time at the latest. Costs one read if it will look earlier. */
    void wakeBy(long timeNs) {
        if (timeNs - nextNs < 0) {
            lock.lock();
            try {
                if (timeNs - nextNs < 0) {
                    nextNs = timeNs;
                    wanted.signal();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    private boolean step() throws InterruptedException {
        if (!awaitNext()) {
            return false;
        }
        long nowNs = System.nanoTime();
        if (nowNs - checkedNs >= TICK_NS) {
            checkedNs = nowNs;
            boolean busy = false;
            for (SessionWorker worker : workers) {
                busy |= worker.checkProgress();
            }
            idleTicks = busy ? 0 : idleTicks + 1;
        }
        return true;
    }

    /** Ends some overdue commands of each session. Returns nanoseconds until the next deadline. */
    private long endOverdue(long nowNs) {
        long nearestNs = Long.MAX_VALUE;
        for (SessionWorker worker : workers) {
            nearestNs = Math.min(nearestNs, worker.endOverdue(nowNs));
        }
        return nearestNs;
    }

    /**
     * Waits until the next tick; when idle, only until the next deadline of a command or {@link #wake}.
     *
     * @return false when the watch is closed
     */
    private boolean awaitNext() throws InterruptedException {
        boolean idle = idleTicks >= IDLE_TICKS;
        long nowNs = System.nanoTime();
        announce(idle, nowNs + (idle ? IDLE_NS_MAX : TICK_NS));
        // After the announcement. A worker that became busy or a command that began to wait before it could
        // see the announcement is found here; a later one sees it. Without the lock: sessions need it.
        if (idle && workers.stream().anyMatch(SessionWorker::isBusy)) {
            wakeBy(nowNs + TICK_NS);
        }
        long nearestNs = endOverdue(nowNs);
        if (nearestNs < IDLE_NS_MAX) {
            wakeBy(nowNs + nearestNs);
        }
        lock.lock();
        try {
            for (long left; !closed && (left = nextNs - System.nanoTime()) > 0; ) {
                long unused = wanted.awaitNanos(left);
            }
            asleep = false;
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    private void announce(boolean sleeps, long untilNs) {
        lock.lock();
        try {
            asleep = sleeps;
            nextNs = untilNs;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the threads, and waits for its own. */
    @Override
    public void close() {
        resting.close();
        Thread running;
        lock.lock();
        try {
            closed = true;
            running = thread;
            wanted.signal();
        } finally {
            lock.unlock();
        }
        try {
            if (running != null) {
                boolean unused = running.join(END);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
