package dev.lite.os.waiting;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Starts a task on a thread of its own, or not at all. The start of a virtual thread may throw although the thread runs: the system has no
 * thread for a further carrier, and another carrier has taken the task already. Who then does in place of the task what must be done
 * would do it twice. Any thread.
 */
public final class TaskStart {
    private TaskStart() {}

    /** Starts a virtual thread; see {@link #on}. */
    public static void virtual(String name, Runnable task) {
        on(
                begun -> {
                    Thread unused = Thread.ofVirtual().name(name).start(begun);
                },
                task);
    }

    /**
     * Starts a task. If this throws, the task does not run, also not later. If another thread has begun it, this does not throw.
     *
     * @param executor starts a thread for the task
     */
    public static void on(Executor executor, Runnable task) {
        AtomicReference<@Nullable Thread> runner = new AtomicReference<>();
        try {
            executor.execute(() -> {
                if (runner.compareAndSet(null, Thread.currentThread())) {
                    task.run();
                }
            });
        } catch (RuntimeException | Error e) { // for example, no memory for a thread
            Thread me = Thread.currentThread();
            if (runner.compareAndSet(null, me) || runner.get() == me) {
                throw e;
            }
        }
    }
}
