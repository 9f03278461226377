package dev.lite.tier;

import dev.lite.api.LiteTimeoutException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The instant until which something may wait. Immutable. */
public final class Deadline {
    /** Longer ones are cut to this, about 146 years, so that the arithmetic does not overflow. */
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

    /** Now plus {@code duration}, which is not negative. */
    public static Deadline in(Duration duration) {
        long ns = duration.compareTo(Duration.ofNanos(NS_MAX)) > 0 ? NS_MAX : duration.toNanos();
        return new Deadline(duration, ns);
    }

    /**
     * The same as {@link #in}, or up to a thousandth of the duration less: what was given out for this duration so short a time ago
     * is given out again. So operations in a row, each with a deadline of its own, make no garbage.
     *
     * @param last what the caller got last, or null
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

    /** Nanoseconds until then; 0 when it is over. */
    public long remainingNs() {
        return Math.max(0, endNs - System.nanoTime());
    }

    /** The instant, of {@link System#nanoTime}. */
    public long endNs() {
        return endNs;
    }

    /** The time until then; zero when it is over. */
    public Duration remaining() {
        return Duration.ofNanos(remainingNs());
    }

    /** Whether it is over. */
    public boolean passed() {
        return remainingNs() == 0;
    }

    /** How long it was when it began. */
    @Override
    public String toString() {
        return duration.toString();
    }

    /** The exception that says so. */
    public LiteTimeoutException exception(String what) {
        return new LiteTimeoutException("%s: not done within its deadline of %s".formatted(what, duration));
    }
}
