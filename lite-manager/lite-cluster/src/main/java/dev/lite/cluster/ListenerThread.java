package dev.lite.cluster;

import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The listeners of one directory and the thread that calls them, one call at a time and in order. An exception or error
 * of a listener is logged, and the listener stays.
 */
final class ListenerThread implements Executor, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ListenerThread.class);

    private final ExecutorService thread;
    private final List<DirectoryListener> listeners = new ArrayList<>(); // confined to the thread
    /** What became last of the registration since it was made; for listeners that are added later. Confined to the thread. */
    private @Nullable Consumer<DirectoryListener> registration;

    ListenerThread(String name) {
        // Not newSingleThreadExecutor: the JDK's cleaner keeps one that was not closed for ever, with everything behind
        // it.
        thread = Executors.newFixedThreadPool(
                1, Thread.ofPlatform().name(name).daemon().factory());
    }

    /** Adds a listener and makes a first call to it, before any later notification, and then {@link #notifyOfRegistration}'s last. */
    void add(DirectoryListener listener, Consumer<DirectoryListener> first) {
        execute(() -> {
            listeners.add(listener);
            callSafely(listener, first);
            if (registration != null) {
                callSafely(listener, registration);
            }
        });
    }

    /**
     * Notifies all listeners that the registration was made again or refused, also those that are added later: a process may be
     * paused after it has registered, and add its listener when that session has expired. Any thread; does not block.
     */
    void notifyOfRegistration(Consumer<DirectoryListener> call) {
        execute(() -> {
            registration = call;
            boolean unused = notifyNow(call); // the log has the failures
        });
    }

    /** A new registration begins: listeners that are added later are not notified of what became of the last. */
    void forgetRegistration() {
        execute(() -> registration = null);
    }

    /** Notifies all listeners asynchronously. Any thread; does not block. */
    void notifyLater(Consumer<DirectoryListener> call) {
        execute(() -> {
            boolean unused = notifyNow(call); // the log has the failures
        });
    }

    /** Notifies all listeners and returns whether none threw anything; only on the listener thread. */
    boolean notifyNow(Consumer<DirectoryListener> call) {
        boolean handled = true;
        for (DirectoryListener listener : listeners) {
            handled &= callSafely(listener, call);
        }
        return handled;
    }

    /**
     * Notifies all listeners and returns whether all returned before the deadline and none threw anything. Not on the
     * listener thread.
     */
    boolean notifyAndWait(Consumer<DirectoryListener> call, Deadline deadline) {
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        execute(() -> done.complete(notifyNow(call)));
        try {
            return done.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } catch (ExecutionException e) {
            throw new AssertionError("the future cannot fail", e);
        }
    }

    /**
     * Runs a task in order with the notifications; an exception is logged. Any thread; does not block. Does nothing after
     * {@link #close}.
     */
    @Override
    public void execute(Runnable task) {
        try {
            thread.execute(() -> runSafely(task));
        } catch (RejectedExecutionException e) {
            log.trace("a listener was not called: the directory is closed", e);
        }
    }

    private static void runSafely(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            log.error("The task {} of a directory failed", task.getClass().getName(), e);
        }
    }

    private static boolean callSafely(DirectoryListener listener, Consumer<DirectoryListener> call) {
        try {
            call.accept(listener);
            return true;
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            log.error("The directory listener {} failed", listener.getClass().getName(), e);
            return false;
        }
    }

    /** Lets the running call finish; makes no further calls. */
    @Override
    public void close() {
        thread.shutdownNow();
    }
}
