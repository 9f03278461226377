package dev.lite.tier.session;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Bounded waits of tests; {@code lite.test.time-scale} stretches them. */
final class TestWaits {
    private static final double SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));

    private TestWaits() {}

    static Duration scaled(Duration duration) {
        return Duration.ofNanos((long) (duration.toNanos() * SCALE));
    }

    /** Waits until the condition holds, at most 10 s. */
    static void until(String what, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + scaled(Duration.ofSeconds(10)).toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new AssertionError("not in time: " + what);
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
    }
}
