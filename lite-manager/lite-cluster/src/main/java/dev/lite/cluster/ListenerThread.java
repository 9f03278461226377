package dev.lite.cluster;

import dev.lite.os.waiting.Deadline;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The listeners of one directory and the thread that tells them, one call at a time and in the order in which things
 * were told. A listener that throws is logged and stays.
 */
final class ListenerThread implements Executor, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ListenerThread.class);

    private final ExecutorService thread;
    private final List<DirectoryListener> listeners = new ArrayList<>(); // confined to the thread

    ListenerThread(String name) {
        thread = Executors.newSingleThreadExecutor(
                Thread.ofPlatform().name(name).daemon().factory());
    }

    /** Adds a listener and tells it something before everything that is told later. */
    void add(DirectoryListener listener, Consumer<DirectoryListener> first) {
        execute(() -> {
            listeners.add(listener);
            callSafely(listener, first);
        });
    }

    /** Tells all of them. Any thread; does not block. */
    void notifyLater(Consumer<DirectoryListener> call) {
        execute(() -> notifyNow(call));
    }

    /** Tells all of them; on the listeners' thread only. */
    void notifyNow(Consumer<DirectoryListener> call) {
        listeners.forEach(listener -> callSafely(listener, call));
    }

    /** Tells all of them, and returns whether all have returned before the deadline. Not on the listeners' thread. */
    boolean notifyAndWait(Consumer<DirectoryListener> call, Deadline deadline) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        execute(() -> {
            notifyNow(call);
            done.complete(null);
        });
        try {
            done.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } catch (ExecutionException e) {
            throw new AssertionError("it only completes", e);
        }
    }

    /** Runs a callback in order with the calls; one that throws is logged. Any thread; does not block. */
    void runLater(Runnable callback) {
        execute(() -> {
            try {
                callback.run();
            } catch (RuntimeException e) {
                log.error("The callback {} failed", callback.getClass().getName(), e);
            }
        });
    }

    /** Runs a task in order with the calls; after {@link #close} nothing happens. */
    @Override
    public void execute(Runnable task) {
        try {
            thread.execute(task);
        } catch (RejectedExecutionException e) {
            log.trace("a listener was not told: the directory is closed", e);
        }
    }

    private static void callSafely(DirectoryListener listener, Consumer<DirectoryListener> call) {
        try {
            call.accept(listener);
        } catch (RuntimeException e) {
            log.error("The directory listener {} failed", listener.getClass().getName(), e);
        }
    }

    /** Lets the call that runs end; tells nothing more. */
    @Override
    public void close() {
        thread.shutdownNow();
    }
}
