package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits of the tests, all scaled by {@code lite.test.time-scale}. */
final class Waits {
    private static final double SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));

    private Waits() {}

    static Duration scaled(Duration duration) {
        return Duration.ofNanos((long) (duration.toNanos() * SCALE));
    }

    static Duration seconds(long seconds) {
        return scaled(Duration.ofSeconds(seconds));
    }

    /** Looks every 10 ms; fails when it is not so after 20 s. */
    static void until(String what, BooleanSupplier isSo) {
        long endNs = System.nanoTime() + seconds(20).toNanos();
        while (!isSo.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited for: " + what).isLessThan(endNs);
            LockSupport.parkNanos(10_000_000);
        }
    }
}
