package dev.lite.boot.resilience;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Resilience4j around the session with this host's node. Instances that are configured by name under "resilience4j" keep that
 * configuration.
 *
 * @param circuitBreaker Circuit breaker for the calls and messages to each node.
 * @param retry Retry of operations that may be repeated: map, createOrMap, read and write.
 * @param bulkhead Bulkhead for the handlers of each function.
 * @param rateLimiter Rate limiter for the calls and messages of this application.
 */
@ConfigurationProperties("lite.client.resilience")
public record LiteResilienceProperties(
        @DefaultValue CircuitBreaker circuitBreaker,
        @DefaultValue Retry retry,
        @DefaultValue Bulkhead bulkhead,
        @DefaultValue RateLimiter rateLimiter) {

    /**
     * Circuit breakers, named "lite-" and the node's name.
     *
     * @param enabled Whether calls to a node fail at once after too many of them did not reach it.
     * @param failureRateThreshold Percentage of failed calls that opens the circuit breaker: more than 0, at most 100.
     * @param slidingWindowSize Number of most recent calls from which the failure rate is computed.
     * @param minimumNumberOfCalls Number of calls before the failure rate is computed.
     * @param waitDurationInOpenState How long calls to a node fail at once before some are tried again.
     * @param permittedCallsInHalfOpenState Number of trial calls after the wait, which close or open the circuit breaker again.
     */
    public record CircuitBreaker(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("50") float failureRateThreshold,
            @DefaultValue("20") int slidingWindowSize,
            @DefaultValue("5") int minimumNumberOfCalls,
            @DefaultValue("5s") Duration waitDurationInOpenState,
            @DefaultValue("3") int permittedCallsInHalfOpenState) {
        /** Checks the values. */
        public CircuitBreaker {
            if (!(failureRateThreshold > 0 && failureRateThreshold <= PERCENT_MAX)) {
                throw new IllegalArgumentException(
                        "lite.client.resilience.circuit-breaker.failure-rate-threshold is %s; it must be more than 0 and at most 100"
                                .formatted(failureRateThreshold));
            }
            requirePositive("circuit-breaker.sliding-window-size", slidingWindowSize);
            requirePositive("circuit-breaker.minimum-number-of-calls", minimumNumberOfCalls);
            requireLeast("circuit-breaker.wait-duration-in-open-state", waitDurationInOpenState, MILLISECOND);
            requirePositive("circuit-breaker.permitted-calls-in-half-open-state", permittedCallsInHalfOpenState);
        }
    }

    /**
     * The retry named "lite".
     *
     * @param enabled Whether an operation is repeated when memory or a node is not available for the moment.
     * @param maxAttempts Number of attempts, including the first one.
     * @param waitDuration Pause before the second attempt; it doubles for each further one.
     */
    public record Retry(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("3") int maxAttempts,
            @DefaultValue("100ms") Duration waitDuration) {
        /** Checks the values. */
        public Retry {
            requirePositive("retry.max-attempts", maxAttempts);
            requireLeast("retry.wait-duration", waitDuration, MILLISECOND);
        }
    }

    /**
     * Bulkheads, named "lite-" and the function's name.
     *
     * @param enabled Whether calls beyond the limit fail at once at their callers.
     * @param maxConcurrentCalls Maximum number of calls of one function that are executed at the same time.
     */
    public record Bulkhead(
            @DefaultValue("false") boolean enabled,
            @DefaultValue("64") int maxConcurrentCalls) {
        /** Checks the values. */
        public Bulkhead {
            requirePositive("bulkhead.max-concurrent-calls", maxConcurrentCalls);
        }
    }

    /**
     * The rate limiter named "lite".
     *
     * @param enabled Whether calls beyond the limit wait, and then fail if they still exceed it.
     * @param limitForPeriod Maximum number of calls and messages in a period.
     * @param limitRefreshPeriod Length of a period of the rate limiter.
     * @param timeoutDuration How long a call waits for the next period.
     */
    public record RateLimiter(
            @DefaultValue("false") boolean enabled,
            @DefaultValue("10000") int limitForPeriod,
            @DefaultValue("1s") Duration limitRefreshPeriod,
            @DefaultValue("0s") Duration timeoutDuration) {
        /** Checks the values. */
        public RateLimiter {
            requirePositive("rate-limiter.limit-for-period", limitForPeriod);
            requireLeast("rate-limiter.limit-refresh-period", limitRefreshPeriod, MILLISECOND);
            requireLeast("rate-limiter.timeout-duration", timeoutDuration, Duration.ZERO);
        }
    }

    private static final float PERCENT_MAX = 100;
    private static final Duration MILLISECOND = Duration.ofMillis(1);
    /** About 292 years: longer durations do not fit into nanoseconds. */
    private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

    private static void requirePositive(String property, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(
                    "lite.client.resilience.%s is %d; it must be at least 1".formatted(property, value));
        }
    }

    private static void requireLeast(String property, Duration value, Duration least) {
        if (value.compareTo(least) < 0 || value.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "lite.client.resilience.%s is %s; it must be %s to %s".formatted(property, value, least, LONGEST));
        }
    }
}
