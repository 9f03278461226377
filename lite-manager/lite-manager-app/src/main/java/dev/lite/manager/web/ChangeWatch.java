package dev.lite.manager.web;

import dev.lite.os.waiting.RepeatingThread;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;

/**
 * Reads something after each change, on a thread of its own, since a watch of the directory must not block. After a read that failed it
 * reads again a second later. Any thread may call.
 */
final class ChangeWatch implements AutoCloseable {
    static final Duration RETRY = Duration.ofSeconds(1);

    private final BooleanSupplier read;
    private final Semaphore changes = new Semaphore(0);
    private final Thread thread;
    private boolean behind; // confined to the thread

    /**
     * Does not start yet.
     *
     * @param read returns whether it succeeded; may throw, which is a failure
     * @param log receives what it throws
     */
    ChangeWatch(String threadName, BooleanSupplier read, BiConsumer<String, Throwable> log) {
        this.read = read;
        thread = RepeatingThread.unstarted(threadName, this::step, log);
    }

    /** Starts the thread. Called once. */
    void start() {
        thread.start();
    }

    /** There was a change. */
    void changed() {
        changes.release();
    }

    private boolean step() throws InterruptedException {
        if (behind) {
            boolean unused = changes.tryAcquire(RETRY.toNanos(), TimeUnit.NANOSECONDS);
        } else {
            changes.acquire();
        }
        changes.drainPermits();
        behind = true; // also if it throws
        behind = !read.getAsBoolean();
        return true;
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
