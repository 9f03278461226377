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
 * <p>Runs one thread ("lite-session-watch"), which blocks after one second without commands in any session. Any thread may call.
 */
final class SessionWatch implements AutoCloseable {
    /** Longer than a busy machine usually delays a thread, and short for a command that waits behind a slow one. */
    private static final long TICK_NS = TimeUnit.MILLISECONDS.toNanos(25);

    private static final int IDLE_TICKS = 40;
    private static final Duration END = Duration.ofSeconds(1);

    private static final Logger log = LoggerFactory.getLogger(SessionWatch.class);

    private final Set<SessionWorker> workers = ConcurrentHashMap.newKeySet();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition wanted = lock.newCondition();

    private int idleTicks; // confined to the thread

    /** Whether the thread blocks until {@link #wake}; written under the lock, read without. */
    private volatile boolean asleep;

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
            lock.lock();
            try {
                asleep = false;
                wanted.signal();
            } finally {
                lock.unlock();
            }
        }
    }

    private boolean step() throws InterruptedException {
        if (!awaitTick(idleTicks >= IDLE_TICKS)) {
            return false;
        }
        boolean busy = false;
        for (SessionWorker worker : workers) {
            busy |= worker.checkProgress();
        }
        idleTicks = busy ? 0 : idleTicks + 1;
        return true;
    }

    /**
     * Waits for the next tick; when idle, waits for {@link #wake} first.
     *
     * @param idle whether no session was busy at the last checks
     * @return false when the watch is closed
     */
    private boolean awaitTick(boolean idle) throws InterruptedException {
        lock.lock();
        try {
            asleep = idle;
            // A worker that became busy before it could see asleep is found here.
            if (idle && workers.stream().anyMatch(SessionWorker::isBusy)) {
                asleep = false;
            }
            while (asleep && !closed) {
                wanted.await();
            }
            for (long left = TICK_NS; left > 0 && !closed; ) {
                left = wanted.awaitNanos(left);
            }
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the thread and waits for it. */
    @Override
    public void close() {
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
