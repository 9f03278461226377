package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How fast the processes of a user id may attach. A session costs its node threads, memory and a principal's accounting, and none of
 * that is the application's own processor time. So a process that attaches all the time would take more than its share of them. Any
 * thread.
 */
final class AttachPace {
    /** In a period, for each user id. */
    static final int ATTACHES = 50;

    static final Duration PERIOD = Duration.ofMillis(250);
    /** The longest that a connection waits for its turn. */
    static final Duration WAIT_MAX = Duration.ofSeconds(1);

    private static final int USERS_MAX = 256;

    private static final RateLimiterConfig CONFIG = RateLimiterConfig.custom()
            .limitForPeriod(ATTACHES)
            .limitRefreshPeriod(PERIOD)
            .timeoutDuration(WAIT_MAX)
            .build();

    /** By user id; the one that attached least recently is forgotten first. */
    @GuardedBy("this")
    private final Map<Integer, RateLimiter> users = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, RateLimiter> eldest) {
            return size() > USERS_MAX;
        }
    };

    /** Takes the next turn of a user id, and returns after how many nanoseconds it comes; 0: now. */
    synchronized long takeTurn(int uid) {
        long waitNs = users.computeIfAbsent(uid, any -> RateLimiter.of("attaches", CONFIG))
                .reservePermission();
        return waitNs < 0 ? WAIT_MAX.toNanos() : waitNs;
    }
}
