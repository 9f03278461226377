package dev.lite.tier.qos;

import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Permits of a Resilience4j rate limiter, taken in batches: all of a period at once. So an operation only decrements a
 * number, and the limiter is asked some hundred times a second.
 */
final class RateLimiterPermits implements Permits {
    /** Short, so that permits come in small portions. */
    private static final long PERIOD_NS_MIN = TimeUnit.MILLISECONDS.toNanos(10);

    private static final long PERIOD_NS_MAX = TimeUnit.SECONDS.toNanos(1);

    /** A period has at least so many permits, so that rounding changes the rate by few percent. */
    private static final long PERMITS_MIN = 32;

    private final String name;
    private RateLimiter limiter;
    private long periodNs;
    /** What one permit of the limiter stands for: its numbers are ints. */
    private long unit;

    RateLimiterPermits(String name, long perSecond) {
        this.name = name;
        periodNs = periodNs(perSecond);
        unit = unit(perSecond, periodNs);
        limiter = make(perSecond);
    }

    private static long periodNs(long perSecond) {
        return Math.clamp(PERMITS_MIN * PERIOD_NS_MAX / perSecond, PERIOD_NS_MIN, PERIOD_NS_MAX);
    }

    private static long inPeriod(long perSecond, long periodNs) {
        return Math.max(1, Math.round((double) perSecond * periodNs / PERIOD_NS_MAX));
    }

    private static long unit(long perSecond, long periodNs) {
        return inPeriod(perSecond, periodNs) / Integer.MAX_VALUE + 1;
    }

    private RateLimiter make(long perSecond) {
        return RateLimiter.of(
                name,
                RateLimiterConfig.custom()
                        .timeoutDuration(Duration.ZERO)
                        .limitRefreshPeriod(Duration.ofNanos(periodNs))
                        .limitForPeriod((int) Math.max(1, inPeriod(perSecond, periodNs) / unit))
                        .build());
    }

    @Override
    public void setPerSecond(long perSecond) {
        long newPeriodNs = periodNs(perSecond);
        long newUnit = unit(perSecond, newPeriodNs);
        if (newPeriodNs == periodNs && newUnit == unit) {
            limiter.changeLimitForPeriod((int) Math.max(1, inPeriod(perSecond, periodNs) / unit));
            return;
        }
        periodNs = newPeriodNs;
        unit = newUnit;
        limiter = make(perSecond);
    }

    @Override
    public long takeAll() {
        int available = limiter.getMetrics().getAvailablePermissions();
        return available > 0 && limiter.acquirePermission(available) ? available * unit : 0;
    }
}
