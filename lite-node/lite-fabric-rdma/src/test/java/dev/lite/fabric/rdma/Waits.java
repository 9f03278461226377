package dev.lite.fabric.rdma;

import java.time.Duration;

/** Deadlines of tests, scaled by {@code lite.test.time-scale}. */
final class Waits {
    private static final double SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));

    private Waits() {}

    static Duration seconds(double seconds) {
        return Duration.ofNanos((long) (seconds * SCALE * 1e9));
    }

    static int millis(double seconds) {
        return (int) seconds(seconds).toMillis();
    }
}
