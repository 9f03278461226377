package dev.lite.cluster;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A moment of {@link System#nanoTime} until which a call may wait. */
final class Deadline {
    private final Duration given;
    private final long atNs;

    private Deadline(Duration given, long atNs) {
        this.given = given;
        this.atNs = atNs;
    }

    /** From now on. Longer than 100 years is 100 years, so that the arithmetic cannot overflow. */
    static Deadline after(Duration duration) {
        long ns = TimeUnit.DAYS.toNanos(36_500);
        if (duration.compareTo(Duration.ofNanos(ns)) < 0) {
            ns = duration.toNanos();
        }
        return new Deadline(duration, System.nanoTime() + ns);
    }

    /** This one, or {@code duration} from now on if that is sooner. */
    Deadline atMost(Duration duration) {
        Deadline other = after(duration);
        return other.atNs - atNs < 0 ? other : this;
    }

    /** Nanoseconds; 0 when it has passed. */
    long remainingNs() {
        return Math.max(0, atNs - System.nanoTime());
    }

    /** What the caller gave, for messages. */
    Duration given() {
        return given;
    }
}
