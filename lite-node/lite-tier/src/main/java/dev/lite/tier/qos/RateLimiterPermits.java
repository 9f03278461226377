package dev.lite.tier.qos;

import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Permits of a Resilience4j rate limiter, taken in batches: all that came since the last time. So an
 * operation only decrements a number, and the limiter is asked some hundred times a second.
 *
 * <p>The thread that takes them may run late. The limiter keeps the permits of one period at most. So this
 * class always owes it those of some more periods: the limiter counts every period that passes until the debt
 * is paid. What was paid is taken, and owed again. Bound: the permits of {@link #SAVED_NS}, but at least of a
 * period, and of the period that has begun.
 */
final class RateLimiterPermits implements Permits {
    /** Permits of so much time are given to a thread that runs late. */
    static final long SAVED_NS = TimeUnit.MILLISECONDS.toNanos(100);

    /** Short, so that permits come in small portions. */
    private static final long PERIOD_NS_MIN = TimeUnit.MILLISECONDS.toNanos(10);

    private static final long PERIOD_NS_MAX = TimeUnit.SECONDS.toNanos(1);

    /** A period has at least so many permits, so that rounding changes the rate by few percent. */
    private static final long PERMITS_MIN = 32;

    /**
     * From this rate on, one permit of the limiter stands for {@link #LARGE_UNIT} of ours: its numbers are
     * ints.
     */
    private static final long LARGE_PER_SECOND = 1L << 30;

    private static final int LARGE_UNIT = 4096;

    /** The limiter adds up twice the permits of all periods. Reached at 40 TB/s. */
    private static final int IN_PERIOD_MAX = (int) (Integer.MAX_VALUE / (2 * (SAVED_NS / PERIOD_NS_MIN + 1)));

    /** Longer than any debt. */
    private static final Duration ANY_WAIT = Duration.ofHours(1);

    private final String name;
    private RateLimiter limiter;
    private long periodNs;
    private int unit;
    private int inPeriod;
    /** What the limiter was asked for in advance. */
    private int owed;
    /** Taken from a former limiter. */
    private long kept;

    RateLimiterPermits(String name, long perSecond) {
        this.name = name;
        periodNs = periodNs(perSecond);
        unit = unit(perSecond);
        inPeriod = inPeriod(perSecond);
        limiter = make();
        owed = saved();
        reserve(owed);
    }

    private static long periodNs(long perSecond) {
        return Math.clamp(PERMITS_MIN * PERIOD_NS_MAX / perSecond, PERIOD_NS_MIN, PERIOD_NS_MAX);
    }

    private static int unit(long perSecond) {
        return perSecond < LARGE_PER_SECOND ? 1 : LARGE_UNIT;
    }

    private int inPeriod(long perSecond) {
        return Math.clamp(Math.round((double) perSecond * periodNs / PERIOD_NS_MAX / unit), 1, IN_PERIOD_MAX);
    }

    private RateLimiter make() {
        return RateLimiter.of(
                name,
                RateLimiterConfig.custom()
                        .timeoutDuration(ANY_WAIT)
                        .limitRefreshPeriod(Duration.ofNanos(periodNs))
                        .limitForPeriod(inPeriod)
                        .build());
    }

    /** What is owed while the rate stays. */
    private int saved() {
        return inPeriod * (int) Math.max(1, SAVED_NS / periodNs);
    }

    private void reserve(int permits) {
        if (limiter.reservePermission(permits) < 0) {
            throw new IllegalStateException(
                    "%s: %d permits are more than come in %s".formatted(name, permits, ANY_WAIT));
        }
    }

    @Override
    public void setPerSecond(long perSecond) {
        long newPeriodNs = periodNs(perSecond);
        int newUnit = unit(perSecond);
        if (newPeriodNs == periodNs && newUnit == unit) {
            inPeriod = inPeriod(perSecond);
            limiter.changeLimitForPeriod(inPeriod);
            return;
        }
        kept = takeAll();
        periodNs = newPeriodNs;
        unit = newUnit;
        inPeriod = inPeriod(perSecond);
        limiter = make();
        owed = saved();
        reserve(owed + inPeriod); // without those that a new limiter has: the former one gave some just now
    }

    @Override
    public long takeAll() {
        int available = limiter.getMetrics().getAvailablePermissions(); // negative: that much is still owed
        int paid = Math.min(available + owed, saved() + inPeriod); // after a fall of the rate, more was owed
        int again = available + saved();
        if (again > 0) {
            reserve(again);
        }
        owed = Math.max(saved(), -available);
        long all = kept + (long) paid * unit;
        kept = 0;
        return all;
    }
}
