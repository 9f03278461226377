package dev.lite.testing;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Waits and timeouts of tests. All are multiplied by the system property {@code lite.test.time-scale}, which is 1 unless a slow
 * machine needs more. Any thread.
 */
public final class Waits {
    private static final double SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    private static final Duration DEFAULT_TIMEOUT = seconds(20);
    private static final long POLL_NS_MIN = 1_000_000;
    private static final long POLL_NS_MAX = 20_000_000;

    private Waits() {}

    /** A number of seconds, scaled. */
    public static Duration seconds(double seconds) {
        return Duration.ofNanos((long) (seconds * SCALE * 1e9));
    }

    /** A duration, scaled. */
    public static Duration scaled(Duration duration) {
        return Duration.ofNanos((long) (duration.toNanos() * SCALE));
    }

    /** {@link #until(String, Duration, BooleanSupplier)} with a timeout of 20 seconds, scaled. */
    public static void until(String what, BooleanSupplier condition) {
        until(what, DEFAULT_TIMEOUT, condition);
    }

    /**
     * Polls a condition until it holds: after 1 ms at first, later every 20 ms.
     *
     * @param what the condition in words, for the error message
     * @param timeout is not scaled here; see {@link #seconds}
     * @throws AssertionError if the condition does not hold within the timeout
     */
    public static void until(String what, Duration timeout, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + timeout.toNanos();
        long pauseNs = POLL_NS_MIN;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new AssertionError("timed out after %s, waited for: %s".formatted(timeout, what));
            }
            LockSupport.parkNanos(pauseNs);
            pauseNs = Math.min(POLL_NS_MAX, 2 * pauseNs);
        }
    }

    /**
     * Lets time pass, not scaled: until a timeout of the tested code expires, or to give other threads time for what they must not do.
     * If there is an event to wait for, use {@link #until}.
     */
    public static void pass(Duration duration) {
        long endNs = System.nanoTime() + duration.toNanos();
        for (long leftNs = duration.toNanos(); leftNs > 0; leftNs = endNs - System.nanoTime()) {
            LockSupport.parkNanos(leftNs);
        }
    }

    /**
     * Waits until a latch is open, at most 20 seconds, scaled.
     *
     * @throws AssertionError if it is not
     */
    public static void await(CountDownLatch latch) {
        try {
            if (!latch.await(DEFAULT_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new AssertionError("the latch did not open; %d are missing".formatted(latch.getCount()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /**
     * Waits until a thread has ended, at most 20 seconds, scaled.
     *
     * @throws AssertionError if it has not ended, with the stack trace of the thread
     */
    public static void join(Thread thread) {
        try {
            if (!thread.join(DEFAULT_TIMEOUT)) {
                AssertionError hangs = new AssertionError(thread + " did not end");
                hangs.setStackTrace(thread.getStackTrace());
                throw hangs;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
