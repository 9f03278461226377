package dev.lite.tier.qos;

import java.util.function.LongFunction;

/** The limit of low priority at one bottleneck: the links, or the processors. {@link #tick} and {@link #reset}: one thread. */
final class LowLimit {
    final Limiter limiter;
    private LowRate rate = new LowRate();
    private volatile double load;

    /** @param source makes permits at a rate per second */
    LowLimit(LongFunction<Permits> source) {
        limiter = new Limiter(source);
    }

    /** Ends a tick; true if low priority is limited from now on, or is not any more. */
    boolean tick(LowRate.Bounds bounds, LowRate.Measured measured) {
        long next = rate.tick(bounds, measured);
        load = rate.load();
        boolean before = limiter.isLimited();
        boolean limited = next != LowRate.UNLIMITED;
        if (limited) {
            limiter.limit(next);
        } else if (before) {
            limiter.unlimit();
        }
        return limited != before;
    }

    /** Ends the limit, and forgets what was measured. */
    void reset() {
        rate = new LowRate();
        load = 0;
        limiter.unlimit();
    }

    /** Operations of high priority under way on average. Any thread. */
    double load() {
        return load;
    }
}
