package dev.lite.tier.sync;

import dev.lite.api.LmrFreedException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.StagedWait;
import dev.lite.tier.memory.Mapping;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.function.IntSupplier;

/**
 * The first part of a wait for a lock's turn, without a message: the waiter reads the lock's word itself. If it is the next in
 * line, it pauses, then yields. Otherwise, or after that, it sleeps on the word; the thread that passes the lock on wakes exactly
 * the ticket whose turn it is, in whatever process it waits.
 *
 * <p>This lasts at most {@value #WATCH_MS} ms. A longer wait continues with a report to the home, which then also notices when
 * nobody holds the lock any more. A sleep on the word would pin the carrier of a virtual thread, so a platform thread watches
 * for it; if all of them are busy, the virtual thread reports to the home at once. Any thread.
 */
final class TurnWatch {
    private static final int WATCH_MS = 10;
    private static final long WATCH_NS = TimeUnit.MILLISECONDS.toNanos(WATCH_MS);
    private static final int WATCHERS_MAX = 32;
    private static final long WATCHER_IDLE_SECONDS = 5;

    private final StagedWait waits;
    private final Executor watchers;

    /**
     * One for all locks of a node: whether pausing pays depends on the machine, not on the lock.
     *
     * @param watchers watches for virtual threads, on platform threads; a watch that it rejects is left out
     */
    TurnWatch(int spins, Executor watchers) {
        this.waits = new StagedWait(spins);
        this.watchers = watchers;
    }

    /** An executor for {@link #TurnWatch}: at most {@value #WATCHERS_MAX} threads, and none while nobody waits. */
    static ThreadPoolExecutor watchers() {
        return new ThreadPoolExecutor(
                0,
                WATCHERS_MAX,
                WATCHER_IDLE_SECONDS,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                Thread.ofPlatform().daemon().name("lite-lock-watch-", 0).factory());
    }

    /**
     * Waits until it is the ticket's turn, until the ticket no longer waits, or until the home must be told.
     *
     * @param generation {@link NodeLock#generation}; read before the word
     * @param turn runs at most once, when it is the ticket's turn; gets the generation that was read before the word. Not always
     *     on the calling thread
     */
    void await(SyncWord word, Hold.Queued hold, Deadline deadline, IntSupplier generation, IntConsumer turn) {
        long endNs = System.nanoTime() + Math.min(WATCH_NS, deadline.remainingNs());
        if (!Thread.currentThread().isVirtual()) {
            watch(word, hold, endNs, generation, turn);
            return;
        }
        hold.watched = true;
        try {
            watchers.execute(() -> {
                try {
                    watch(word, hold, endNs, generation, turn);
                } finally {
                    hold.watched = false;
                    LockSupport.unpark(hold.waiter);
                }
            });
        } catch (RejectedExecutionException e) {
            return; // too many wait, or the node stops
        }
        while (hold.watched
                && hold.state() == Hold.WAITING
                && !Thread.currentThread().isInterrupted()) {
            LockSupport.park(this); // the watcher ends in time
        }
    }

    private void watch(SyncWord word, Hold.Queued hold, long endNs, IntSupplier generation, IntConsumer turn) {
        int left = -1;
        while (hold.state() == Hold.WAITING) {
            int since = generation.getAsInt();
            long now;
            try {
                now = word.read();
            } catch (Mapping.NotMappedException | LmrFreedException e) {
                return; // the word moves, or is dead; or only a fabric reaches it
            }
            long ahead = hold.ticket() - LockWord.turn(now);
            if (ahead <= 0 || LockWord.isDead(now)) {
                if (left > 0) {
                    waits.hit(left);
                }
                if (ahead == 0 && !LockWord.isDead(now)) {
                    turn.accept(since);
                }
                return;
            }
            if (ahead == 1 && left < 0) {
                left = waits.begin(1);
            }
            if (ahead == 1 && left > 0) {
                left = waits.pause(left);
                continue;
            }
            long leftNs = endNs - System.nanoTime();
            if (leftNs <= 0 || Thread.currentThread().isInterrupted()) {
                return;
            }
            word.sleep(now, hold.ticket(), leftNs);
        }
    }

    /** Pauses and yields until a message ends the wait of the next in line, or until it is time to sleep. */
    void awaitNotified(Hold.Queued hold) {
        int left = waits.begin(1);
        while (left > 0) {
            if (hold.state() != Hold.WAITING) {
                waits.hit(left);
                return;
            }
            left = waits.pause(left);
        }
    }
}
