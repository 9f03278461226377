package dev.lite.session.async;

import dev.lite.os.waiting.TaskStart;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Futures whose waiting threads help before they block, and whose stages run on virtual threads. Any thread. */
public final class HelpedFutures {
    /** Bounds how late a waiting thread sees an end that nobody told it of, as by {@link CompletableFuture#completeAsync}. */
    private static final long WAIT_NS = TimeUnit.MILLISECONDS.toNanos(100);

    /** A thread that comes from its wait begins each of the next operations within this time, or has other work first. */
    private static final long FOLLOW_NS = TimeUnit.MICROSECONDS.toNanos(50);

    /** What such a thread began is left unsent for at most about this time. */
    private static final long LEFT_NS = TimeUnit.MICROSECONDS.toNanos(200);

    private final Executor threads;
    private final Completions completions;
    private final WaitingHelp help;

    // About the last wait. Racy: a lost write makes a guess wrong.
    private volatile @Nullable Thread waited;
    /** When the wait ended, or the last operation began that followed it. */
    private long lastNs;

    /** When the wait ended, or an operation was said not to be followed. */
    private long sentNs;

    private int following;

    /** Futures with this help. A thread that helps tells {@link #complete} so. */
    public HelpedFutures(WaitingHelp help) {
        this(help, HelpedFutures::startThread);
    }

    /**
     * Futures whose waiting threads poll until they are done. Such a thread also completes other futures that have ended and have no
     * stages. A virtual thread, a thread that waits for a stage, and a second one that waits for the same future block.
     */
    public HelpedFutures(PollingHelp polling) {
        this(polling, HelpedFutures::startThread);
    }

    /** @param threads starts a thread for each task */
    HelpedFutures(WaitingHelp help, Executor threads) {
        this.help = help;
        this.threads = threads;
        completions = new Completions(threads);
    }

    /** @param threads starts a thread for each task */
    HelpedFutures(PollingHelp polling, Executor threads) {
        this.help = (awaited, deadlineNs) -> await(polling, awaited, deadlineNs);
        this.threads = threads;
        completions = new Completions(threads);
    }

    private static void startThread(Runnable task) {
        TaskStart.virtual("lite-async", task);
    }

    /** Runs a task on a virtual thread. */
    void onThread(Runnable task) {
        threads.execute(task);
    }

    private void await(PollingHelp polling, Future<?> awaited, long deadlineNs) {
        if (!(awaited instanceof HelpedFuture<?> future)
                || Thread.currentThread().isVirtual()) {
            return;
        }
        PollingHelp.Wait wait = polling.newWait(() -> future.isDone() || completions.isAnyEnded());
        if (wait == null || !future.beginWait(wait)) {
            return;
        }
        int completed = 0;
        try {
            long nowNs;
            while (!future.isDone()
                    && deadlineNs - (nowNs = System.nanoTime()) > 0
                    && !Thread.currentThread().isInterrupted()) {
                completed += completions.await(wait, nowNs + Math.min(deadlineNs - nowNs, WAIT_NS));
            }
        } finally {
            future.endWait();
        }
        if (completed > 1) {
            following = completed - 1;
            lastNs = System.nanoTime();
            sentNs = lastNs;
            waited = Thread.currentThread();
        }
    }

    /**
     * Whether this thread will probably begin another operation within microseconds, so that both may be sent together. A guess: its
     * last wait ended several operations, a thread mostly replaces each of them by a new one, and this is not the last of these.
     * Also false now and then in between, so that nothing is left unsent for long. Call once for each operation.
     */
    public boolean isFollowed() {
        return isFollowed(System.nanoTime());
    }

    /**
     * {@link #isFollowed()}.
     *
     * @param nowNs when the operation began, of {@link System#nanoTime}
     */
    public boolean isFollowed(long nowNs) {
        if (waited != Thread.currentThread()) {
            return false;
        }
        int left = following--;
        if (left <= 0 || nowNs - lastNs > FOLLOW_NS) {
            waited = null;
            return false;
        }
        lastNs = nowNs;
        if (nowNs - sentNs > LEFT_NS) { // the other side may be idle meanwhile
            sentNs = nowNs;
            return false;
        }
        return true;
    }

    /** A future whose waiting threads help. */
    public <T extends @Nullable Object> CompletableFuture<T> newFuture() {
        return new HelpedFuture<>(help, false);
    }

    /**
     * Completes a future of {@link #newFuture}. Does not block: stages that depend on it run on a virtual thread.
     *
     * @param completion completes the future
     * @param here whether this thread may complete it if nothing depends on it: it came from {@link WaitingHelp}, or nobody else
     *     has the future
     */
    public void complete(CompletableFuture<?> future, Runnable completion, boolean here) {
        if (here && future.getNumberOfDependents() == 0) {
            completion.run();
        } else {
            completions.add(future, completion);
        }
    }
}
