package dev.lite.os.waiting;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The instant at which a wait must end, on the clock of {@link System#nanoTime}. Immutable. */
public final class Deadline {
    /** Longer durations are cut to this, about 146 years, so that the arithmetic does not overflow. */
    private static final long NS_MAX = Long.MAX_VALUE / 2;

    private static final int SHARED_PART = 1000;

    private final Duration duration;
    private final long durationNs;
    private final long endNs;

    private Deadline(Duration duration, long durationNs) {
        this.duration = duration;
        this.durationNs = durationNs;
        this.endNs = System.nanoTime() + durationNs;
    }

    /**
     * Now plus {@code duration}.
     *
     * @throws IllegalArgumentException when it is negative
     */
    public static Deadline in(Duration duration) {
        Durations.requireNotNegative(duration);
        long ns = duration.compareTo(Duration.ofNanos(NS_MAX)) > 0 ? NS_MAX : duration.toNanos();
        return new Deadline(duration, ns);
    }

    /**
     * {@link #in} for the deadline that an application gave to a call.
     *
     * @throws IllegalArgumentException when it is negative or zero
     */
    public static Deadline ofCall(Duration deadline) {
        Durations.requirePositive(deadline);
        return in(deadline);
    }

    /**
     * Like {@link #in}, but may return {@code last} if it was made for the same duration less than a thousandth of that
     * duration ago. So operations in a row, each with its own deadline, allocate nothing.
     *
     * @param last the deadline that the caller used last, or null
     */
    public static Deadline about(Duration duration, @Nullable Deadline last) {
        if (last != null && last.duration.equals(duration)) {
            long ns = last.durationNs;
            long gone = ns - (last.endNs - System.nanoTime());
            if (gone <= ns / SHARED_PART) {
                return last;
            }
        }
        return in(duration);
    }

    /**
     * Waits for permits. An interrupt does not end the wait; it is kept for the caller.
     *
     * @param count how many, all at once
     * @param endNs the instant at which the wait ends, in {@link System#nanoTime} terms
     * @return false when it passed
     */
    public static boolean awaitPermits(Semaphore permits, int count, long endNs) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return permits.tryAcquire(count, endNs - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException kept) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** This deadline, or {@code duration} from now if that is sooner. */
    public Deadline atMost(Duration duration) {
        Deadline other = in(duration);
        return other.endNs - endNs < 0 ? other : this;
    }

    /** Nanoseconds left; 0 when it has passed. */
    public long remainingNs() {
        return Math.max(0, endNs - System.nanoTime());
    }

    /** The instant, in {@link System#nanoTime} terms. */
    public long endNs() {
        return endNs;
    }

    /** The time left; zero when it has passed. */
    public Duration remaining() {
        return Duration.ofNanos(remainingNs());
    }

    /** Whether it has passed. */
    public boolean passed() {
        return remainingNs() == 0;
    }

    /** The duration that this deadline was made with. */
    public Duration duration() {
        return duration;
    }

    /** The message of the exception to throw when {@code what} did not finish in time. */
    public String expired(String what) {
        return "%s: not done within its deadline of %s".formatted(what, this);
    }

    /** The duration that this deadline was made with, for messages. */
    @Override
    public String toString() {
        return Durations.text(duration);
    }
}
