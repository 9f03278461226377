package dev.lite.fabric.conformance;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** The deadline of a wait. Every wait of the suite has one; the property {@code lite.test.time-scale} scales them all. */
final class Deadline {
    private static final double TIME_SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    private static final long PAUSE_NS = 50_000;

    private final long endNs;

    private Deadline(long endNs) {
        this.endNs = endNs;
    }

    /** For waits that normally take milliseconds. */
    static Deadline generous() {
        return in(Duration.ofSeconds(20));
    }

    static Deadline in(Duration duration) {
        return new Deadline(System.nanoTime() + scaledNs(duration));
    }

    static long scaledNs(Duration duration) {
        return (long) (duration.toNanos() * TIME_SCALE);
    }

    boolean isOver() {
        return System.nanoTime() - endNs > 0;
    }

    /** For threads that do not hold a poll role. */
    void waitFor(BooleanSupplier condition, String what) {
        while (!condition.getAsBoolean()) {
            check(what);
            pause();
        }
    }

    void check(String what) {
        if (isOver()) {
            throw new AssertionError("timed out waiting for " + what);
        }
    }

    static void pause() {
        LockSupport.parkNanos(PAUSE_NS);
    }
}
