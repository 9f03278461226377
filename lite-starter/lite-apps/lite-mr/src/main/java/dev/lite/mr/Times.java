package dev.lite.mr;

import java.time.Duration;

/** Durations that callers give, for sums with {@link System#nanoTime}. */
final class Times {
    private static final Duration LONGEST = Duration.ofDays(365);

    private Times() {}

    /** The nanoseconds; those of a year, if it is longer. */
    static long nanos(Duration duration) {
        return duration.compareTo(LONGEST) < 0 ? duration.toNanos() : LONGEST.toNanos();
    }
}
