package dev.lite.session.async;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.os.waiting.DeadlineSweeper;
import dev.lite.os.waiting.Unrecoverable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Completes the futures of operations that have ended, on virtual threads, so that the thread that saw them end never runs a stage of
 * the application. One virtual thread completes all that have ended when it looks, which saves a wake-up for each. If a thread of the
 * application {@linkplain #await waits and helps}, it takes the place of that thread. Any thread.
 *
 * <p>A stage may block. So a thread that is about to complete a future with stages first leaves the rest to another one. A stage that is
 * added in just that instant may block the thread all the same. A check some milliseconds later replaces it then. If no thread can be
 * started, that check tries again.
 *
 * <p>Bound: the operations under way of the session.
 */
final class Completions {
    private static final long CHECK_NS = 5_000_000;
    /** A helper completes at most so many before it looks after its own future again. */
    private static final int HELPED_MAX = 256;

    /** The completion of a future. */
    private record Completion(CompletableFuture<?> future, Runnable action) {}

    private final ConcurrentLinkedQueue<Completion> ended = new ConcurrentLinkedQueue<>();
    private final DeadlineSweeper checks = new DeadlineSweeper(this::check);
    /** The waits of threads that complete themselves what ends meanwhile. */
    private final ConcurrentLinkedQueue<PollingHelp.Wait> helpers = new ConcurrentLinkedQueue<>();

    /** The thread that completes. A thread that is no longer this one ends after its current operation. */
    private final AtomicReference<@Nullable Completer> current = new AtomicReference<>();

    /** What the last check saw. */
    @GuardedBy("this")
    private @Nullable CompletableFuture<?> seen;

    private final Executor threads;

    /** @param threads starts a thread for each task */
    Completions(Executor threads) {
        this.threads = threads;
    }

    /** Does not block. Without memory for an entry, this thread completes the future, with its stages: nobody else would. */
    void add(CompletableFuture<?> future, Runnable completion) {
        try {
            ended.add(new Completion(future, completion));
        } catch (RuntimeException | Error e) {
            completeHere(completion, e);
            return;
        }
        try {
            wakeOne();
        } catch (RuntimeException | Error e) { // without memory for another thread, or for less than that
            checkSoon();
        }
    }

    private static void completeHere(Runnable completion, Throwable why) {
        Unrecoverable.report(why);
        completion.run();
    }

    private void wakeOne() {
        PollingHelp.Wait helper = helpers.peek();
        if (helper == null) {
            startIfNone();
        } else {
            helper.signal();
        }
    }

    /** Whether an operation has ended whose future nobody has completed. */
    boolean isAnyEnded() {
        return !ended.isEmpty();
    }

    /**
     * Waits, and then completes what has ended. What has stages gets a virtual thread.
     *
     * @return how many futures this thread has completed
     */
    int await(PollingHelp.Wait wait, long deadlineNs) {
        helpers.add(wait);
        boolean failed = true;
        try {
            wait.await(deadlineNs);
            failed = false;
        } finally {
            boolean unused = helpers.remove(wait);
            if (failed && !ended.isEmpty()) {
                startIfNone();
            }
        }
        // A thread that left an entry to this helper added it before the helper was removed. So it is visible here.
        if (ended.isEmpty()) {
            return 0;
        }
        Completer here = new Completer(true);
        current.set(here); // another one ends after its current operation
        here.run();
        return here.completed;
    }

    private void startIfNone() {
        if (current.get() == null) {
            Completer next = new Completer(false);
            if (current.compareAndSet(null, next) && !starts(next)) {
                current.compareAndSet(next, null);
            }
        }
    }

    /** Starts a thread; false: the system has none, and the check tries again. */
    private boolean starts(Runnable task) {
        try {
            threads.execute(task);
            return true;
        } catch (RuntimeException | Error e) { // no memory for a thread, or the limit of the process is reached
            checkSoon();
            return false;
        }
    }

    private void checkSoon() {
        try {
            checks.sweepAfter(System.nanoTime() + CHECK_NS);
        } catch (RuntimeException | Error e) {
            // no memory for a timer: the next operation that ends makes up for it
        }
    }

    private final class Completer implements Runnable {
        /** What it completes, or has completed last. Written by its own thread. */
        private volatile @Nullable CompletableFuture<?> future;

        private final boolean helper;
        private int completed;

        /** @param helper whether its thread is one of the application and runs no stages */
        Completer(boolean helper) {
            this.helper = helper;
        }

        @Override
        public void run() {
            try {
                Completion next;
                for (int count = 0;
                        current.get() == this && (!helper || count < HELPED_MAX) && (next = ended.poll()) != null;
                        count++) {
                    future = next.future();
                    boolean hasStages = next.future().getNumberOfDependents() > 0;
                    if (hasStages && helper) {
                        if (!starts(next.action())) {
                            addAgain(next);
                            break;
                        }
                        continue;
                    }
                    if (hasStages) {
                        leave();
                    } else {
                        checkSoon();
                    }
                    next.action().run();
                    completed++;
                }
            } finally {
                leave();
            }
        }

        private void addAgain(Completion next) {
            try {
                ended.add(next);
            } catch (RuntimeException | Error e) { // likewise without memory: nobody else would complete it
                completeHere(next.action(), e);
            }
        }

        private void leave() {
            if (current.compareAndSet(this, null) && !ended.isEmpty()) {
                startIfNone();
            }
        }
    }

    /** Replaces a thread that has completed nothing since the last check. */
    private synchronized void check() {
        Completer now = current.get();
        if (now == null) {
            if (!ended.isEmpty()) { // no thread could be started
                startIfNone();
            }
            return;
        }
        CompletableFuture<?> future = now.future;
        if (future != null && future == seen) {
            now.leave();
        } else {
            seen = future;
            checks.sweepAfter(System.nanoTime() + CHECK_NS);
        }
    }
}
