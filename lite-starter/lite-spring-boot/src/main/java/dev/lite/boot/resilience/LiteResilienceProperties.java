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
     * @param slidingWindowSize Number of last calls that count.
     * @param minimumNumberOfCalls Number of calls before the percentage counts.
     * @param waitDurationInOpenState How long calls to a node fail at once before some are tried again.
     * @param permittedCallsInHalfOpenState Number of calls that are tried after that time.
     */
    public record CircuitBreaker(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("50") float failureRateThreshold,
            @DefaultValue("20") int slidingWindowSize,
            @DefaultValue("5") int minimumNumberOfCalls,
            @DefaultValue("5s") Duration waitDurationInOpenState,
            @DefaultValue("3") int permittedCallsInHalfOpenState) {}

    /**
     * The retry named "lite".
     *
     * @param enabled Whether an operation is repeated when memory or a node is not available for the moment.
     * @param maxAttempts Number of attempts, with the first one.
     * @param waitDuration Pause before the second attempt; it doubles for each further one.
     */
    public record Retry(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("3") int maxAttempts,
            @DefaultValue("100ms") Duration waitDuration) {}

    /**
     * Bulkheads, named "lite-" and the function's name.
     *
     * @param enabled Whether calls beyond the limit fail at once at their callers.
     * @param maxConcurrentCalls Number of calls of one function that are executed at the same time.
     */
    public record Bulkhead(
            @DefaultValue("false") boolean enabled,
            @DefaultValue("64") int maxConcurrentCalls) {}

    /**
     * The rate limiter named "lite".
     *
     * @param enabled Whether calls beyond the limit wait, and then fail.
     * @param limitForPeriod Number of calls and messages in a period.
     * @param limitRefreshPeriod Length of a period.
     * @param timeoutDuration How long a call waits for the next period.
     */
    public record RateLimiter(
            @DefaultValue("false") boolean enabled,
            @DefaultValue("10000") int limitForPeriod,
            @DefaultValue("1s") Duration limitRefreshPeriod,
            @DefaultValue("0s") Duration timeoutDuration) {}
}
