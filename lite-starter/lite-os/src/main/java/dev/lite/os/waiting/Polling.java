package dev.lite.os.waiting;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Waits for a condition that no thread signals, by polling it. Where another thread can signal, park with a blocker and
 * unpark instead. Any thread; a virtual thread gives its carrier up while it sleeps.
 */
public final class Polling {
    private static final int SPINS = 200;
    private static final long SLEEP_NS = 50_000;

    private Polling() {}

    /**
     * One step of a wait for something that another thread is about to finish: a spin hint for the first 200 steps, then a
     * sleep of 50 µs.
     *
     * @param step the number of previous steps in this wait
     */
    public static void pause(int step) {
        if (step < SPINS) {
            Thread.onSpinWait();
        } else {
            LockSupport.parkNanos(SLEEP_NS);
        }
    }

    /** Sleeps once between two polls. Returns early when the thread is unparked or interrupted; keeps the interrupt. */
    public static void sleepNs(long ns) {
        LockSupport.parkNanos(ns);
    }

    /** Sleeps for the whole time, also when the thread is unparked or interrupted; keeps the interrupt. */
    public static void sleepThroughNs(long ns) {
        long beganNs = System.nanoTime();
        boolean interrupted = Thread.interrupted();
        for (long leftNs = ns; leftNs > 0; leftNs = ns - (System.nanoTime() - beganNs)) {
            LockSupport.parkNanos(leftNs);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Polls a condition until it holds or the deadline has passed. An interrupt does not end the wait and stays set; the
     * thread then polls without sleeping.
     *
     * @param pauseNs the sleep between two polls
     * @return whether the condition held at the last poll
     */
    public static boolean until(BooleanSupplier condition, Deadline deadline, long pauseNs) {
        while (!condition.getAsBoolean()) {
            long leftNs = deadline.remainingNs();
            if (leftNs == 0) {
                return condition.getAsBoolean();
            }
            LockSupport.parkNanos(Math.min(leftNs, pauseNs));
        }
        return true;
    }
}
