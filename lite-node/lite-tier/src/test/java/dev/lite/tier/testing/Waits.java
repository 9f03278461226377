package dev.lite.tier.testing;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Deadlines of tests, scaled by {@code lite.test.time-scale}. */
public final class Waits {
    private static final double SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    private static final long POLL_NS = 1_000_000;

    private Waits() {}

    public static Duration seconds(double seconds) {
        return Duration.ofNanos((long) (seconds * SCALE * 1e9));
    }

    /** Waits at most 20 seconds. */
    public static void until(String what, BooleanSupplier condition) {
        long endNs = System.nanoTime() + seconds(20).toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - endNs > 0) {
                throw new AssertionError("not within the time: " + what);
            }
            LockSupport.parkNanos(POLL_NS);
        }
    }

    /** Gives other threads time to do what they should not do; proves nothing when they do not. */
    public static void aMoment(Duration duration) {
        long endNs = System.nanoTime() + duration.toNanos();
        for (long left = duration.toNanos(); left > 0; left = endNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** Waits for a thread's end. */
    public static void join(Thread thread) {
        try {
            if (!thread.join(seconds(20))) {
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
