package dev.lite.tier.session;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Looks at the sessions' data threads from time to time: one that is at the same command as at the last look, because a peer
 * does not answer or an LMR moves, gets a substitute for the commands that come after it. So a command costs nothing for
 * this but two stores.
 *
 * <p>One thread ("lite-session-watch"), which sleeps while no session has had anything to do for a second. Any thread may call.
 */
final class SessionWatch implements AutoCloseable {
    /** Longer than a thread of a busy machine is kept from running, as a rule; short for who waits behind another. */
    private static final long TICK_NS = TimeUnit.MILLISECONDS.toNanos(25);

    private static final int IDLE_TICKS = 40;
    private static final Duration END = Duration.ofSeconds(1);

    private final Set<SessionWorker> workers = ConcurrentHashMap.newKeySet();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition wanted = lock.newCondition();

    /** Whether the thread sleeps until it is {@link #wake woken}; written under the lock, read without. */
    private volatile boolean asleep;

    private boolean closed; // guarded by lock
    private @Nullable Thread thread; // guarded by lock

    /** Starts the thread. */
    void start() {
        lock.lock();
        try {
            thread = Thread.ofPlatform().daemon().name("lite-session-watch").start(this::run);
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

    /** A data thread has a command after it slept. Nearly free while the watch is awake. */
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

    private void run() {
        int idleTicks = 0;
        while (awaitTick(idleTicks >= IDLE_TICKS)) {
            boolean busy = false;
            for (SessionWorker worker : workers) {
                busy |= worker.look();
            }
            idleTicks = busy ? 0 : idleTicks + 1;
        }
    }

    /**
     * Waits for a tick, or until it is woken; false when it is closed.
     *
     * @param idle nobody was busy at the last looks; who begins to be after it is asked here says so
     */
    private boolean awaitTick(boolean idle) {
        lock.lock();
        try {
            asleep = idle;
            // Who became busy before it could see that this sleeps is seen here.
            if (idle && workers.stream().anyMatch(SessionWorker::isAwake)) {
                asleep = false;
            }
            while (asleep && !closed) {
                wanted.await();
            }
            for (long left = TICK_NS; left > 0 && !closed; ) {
                left = wanted.awaitNanos(left);
            }
            return !closed;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody interrupts this thread but a dying process
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the thread, and waits for that. */
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
