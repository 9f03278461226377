package dev.lite.os.waiting;

import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * A daemon thread that repeats one step until the step says that it is the last one. A step that throws, be it a defect or
 * an {@link Error} such as a stack overflow, is reported and repeated after {@value #PAUSE_MS} ms. So no single failure
 * ends work that a node needs for as long as it lives.
 */
public final class RepeatingThread {
    private static final long PAUSE_MS = 200;

    private RepeatingThread() {}

    /** What the thread repeats. */
    @FunctionalInterface
    public interface Step {
        /**
         * Waits for work and does it.
         *
         * @return false to end the thread
         * @throws InterruptedException ends the thread
         */
        boolean run() throws InterruptedException;
    }

    /**
     * Creates the thread; the caller starts it.
     *
     * @param log called on the thread with a message and the failure of a step; what it throws is ignored
     */
    public static Thread unstarted(String name, Step step, BiConsumer<String, Throwable> log) {
        return Thread.ofPlatform().name(name).daemon().unstarted(() -> repeat(name, step, log));
    }

    private static void repeat(String name, Step step, BiConsumer<String, Throwable> log) {
        boolean goesOn = true;
        while (goesOn) {
            try {
                goesOn = step.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                goesOn = false;
            } catch (Throwable e) {
                Unrecoverable.report(e);
                report(name, e, log);
                Polling.sleepNs(TimeUnit.MILLISECONDS.toNanos(PAUSE_MS));
            }
        }
    }

    private static void report(String name, Throwable failure, BiConsumer<String, Throwable> log) {
        try {
            log.accept("the thread %s failed; it continues".formatted(name), failure);
        } catch (Throwable e) {
            // no memory for a message: the work is more important. Without memory, both may be the same object
        }
    }
}
