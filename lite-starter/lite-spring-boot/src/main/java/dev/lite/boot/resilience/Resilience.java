package dev.lite.boot.resilience;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.core.IntervalBiFunction;
import io.github.resilience4j.core.IntervalFunction;
import io.github.resilience4j.core.functions.Either;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import io.github.resilience4j.retry.RetryRegistry;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;

/** The configured patterns, as instances of the application's registries. Any thread. */
final class Resilience {

    private static final String NAME = "lite";
    static final String PREFIX = "lite-";
    private static final double RETRY_FACTOR = 2;
    /** Circuit breakers; more than a cluster has nodes. */
    private static final int MADE_MAX = 1024;

    private final Lite lite;
    private final Duration deadline;
    private final String circuitBreakerPrefix;
    private final @Nullable CircuitBreakerRegistry circuitBreakers;
    private final CircuitBreakerConfig circuitBreakerConfig;

    /** The names of circuit breakers that this object has made, the oldest first. */
    @GuardedBy("made")
    private final LinkedHashSet<String> made = new LinkedHashSet<>();

    private final @Nullable Retry retry;
    private final @Nullable BulkheadRegistry bulkheads;
    private final BulkheadConfig bulkheadConfig;
    private final @Nullable RateLimiter rateLimiter;

    /** The registries of the application. */
    record Registries(
            CircuitBreakerRegistry circuitBreakers,
            RetryRegistry retries,
            BulkheadRegistry bulkheads,
            RateLimiterRegistry rateLimiters) {}

    /**
     * Takes or makes the instances of a session.
     *
     * @param lite the session that all of this protects
     * @param circuitBreakerPrefix before a node's name, the name of its circuit breaker; of this session only
     */
    Resilience(Lite lite, String circuitBreakerPrefix, LiteResilienceProperties properties, Registries registries) {
        this.lite = lite;
        this.circuitBreakerPrefix = circuitBreakerPrefix;
        deadline = lite.deadline();
        circuitBreakers = properties.circuitBreaker().enabled() ? registries.circuitBreakers() : null;
        circuitBreakerConfig = config(properties.circuitBreaker());
        retry = properties.retry().enabled()
                ? registries.retries().retry(NAME, () -> config(properties.retry()))
                : null;
        bulkheads = properties.bulkhead().enabled() ? registries.bulkheads() : null;
        bulkheadConfig = BulkheadConfig.custom()
                .maxConcurrentCalls(properties.bulkhead().maxConcurrentCalls())
                .build();
        rateLimiter = properties.rateLimiter().enabled()
                ? registries.rateLimiters().rateLimiter(NAME, () -> config(properties.rateLimiter()))
                : null;
    }

    /** Whether any pattern is on. */
    static boolean isOn(LiteResilienceProperties properties) {
        return properties.circuitBreaker().enabled()
                || properties.retry().enabled()
                || properties.bulkhead().enabled()
                || properties.rateLimiter().enabled();
    }

    private static CircuitBreakerConfig config(LiteResilienceProperties.CircuitBreaker properties) {
        return CircuitBreakerConfig.custom()
                .failureRateThreshold(properties.failureRateThreshold())
                .slidingWindowSize(properties.slidingWindowSize())
                .minimumNumberOfCalls(properties.minimumNumberOfCalls())
                .waitDurationInOpenState(properties.waitDurationInOpenState())
                .permittedNumberOfCallsInHalfOpenState(properties.permittedCallsInHalfOpenState())
                .build();
    }

    private static RetryConfig config(LiteResilienceProperties.Retry properties) {
        return RetryConfig.custom()
                .maxAttempts(properties.maxAttempts())
                .intervalFunction(IntervalFunction.ofExponentialBackoff(properties.waitDuration(), RETRY_FACTOR))
                .build();
    }

    private static RateLimiterConfig config(LiteResilienceProperties.RateLimiter properties) {
        return RateLimiterConfig.custom()
                .limitForPeriod(properties.limitForPeriod())
                .limitRefreshPeriod(properties.limitRefreshPeriod())
                .timeoutDuration(properties.timeoutDuration())
                .build();
    }

    /**
     * The circuit breaker of a node; null if they are off. There is one for each node that was called, but of nodes that come and go only
     * the last {@value #MADE_MAX}. Those that the application has made stay.
     */
    @Nullable
    CircuitBreaker circuitBreaker(String node) {
        if (circuitBreakers == null) {
            return null;
        }
        String name = circuitBreakerPrefix + node;
        CircuitBreakerRegistry registry = circuitBreakers;
        return registry.find(name).orElseGet(() -> makeCircuitBreaker(registry, name));
    }

    private CircuitBreaker makeCircuitBreaker(CircuitBreakerRegistry registry, String name) {
        synchronized (made) {
            CircuitBreaker circuitBreaker = registry.circuitBreaker(name, circuitBreakerConfig);
            if (made.add(name) && made.size() > MADE_MAX) {
                registry.remove(made.removeFirst()); // a client that has it keeps it
            }
            return circuitBreaker;
        }
    }

    /** The bulkhead of a function; null if they are off. */
    @Nullable
    Bulkhead bulkhead(String function) {
        return bulkheads == null ? null : bulkheads.bulkhead(PREFIX + function, bulkheadConfig);
    }

    /**
     * Asks the rate limiter and the circuit breaker. If it returns, {@link #succeeded} or {@link #failed} must follow.
     *
     * @param callDeadline of the call
     * @return what is left of that
     * @throws LimitExceededException when the application makes too many calls
     * @throws LiteTimeoutException when the wait for the rate limiter took all of the deadline
     * @throws NodeUnreachableException when the circuit breaker is open
     */
    Duration begin(@Nullable CircuitBreaker circuitBreaker, Duration callDeadline) {
        Duration left = rateLimiter == null ? callDeadline : acquire(rateLimiter, callDeadline);
        if (circuitBreaker == null) {
            return left;
        }
        try {
            circuitBreaker.acquirePermission();
            return left;
        } catch (CallNotPermittedException e) {
            CircuitBreaker.State state = circuitBreaker.getState();
            throw new NodeUnreachableException(
                    "the circuit breaker \"%s\" is %s: %s"
                            .formatted(circuitBreaker.getName(), state, refusal(circuitBreaker, state)),
                    e);
        }
    }

    /** Why it permits no call. Its rate is negative until it has enough calls. */
    private static String refusal(CircuitBreaker circuitBreaker, CircuitBreaker.State state) {
        if (state == CircuitBreaker.State.HALF_OPEN) {
            return "%s on trial may be under way"
                    .formatted(GuardedHandler.calls(
                            circuitBreaker.getCircuitBreakerConfig().getPermittedNumberOfCallsInHalfOpenState()));
        }
        float rate = circuitBreaker.getMetrics().getFailureRate();
        return rate < 0 ? "it permits no calls" : "%.0f %% of the last calls did not reach the node".formatted(rate);
    }

    private static Duration acquire(RateLimiter rateLimiter, Duration callDeadline) {
        if (!Objects.requireNonNull(callDeadline, "deadline").isPositive()) {
            return callDeadline; // the call itself refuses it
        }
        long beganNs = System.nanoTime();
        if (!rateLimiter.acquirePermission()) {
            throw new LimitExceededException(
                    "the rate limiter \"%s\" permits %s in %s; this application makes more (lite.client.resilience.rate-limiter)"
                            .formatted(
                                    rateLimiter.getName(),
                                    GuardedHandler.calls(
                                            rateLimiter.getRateLimiterConfig().getLimitForPeriod()),
                                    DurationStyle.SIMPLE.print(
                                            rateLimiter.getRateLimiterConfig().getLimitRefreshPeriod(),
                                            ChronoUnit.MILLIS)));
        }
        Duration left = callDeadline.minusNanos(System.nanoTime() - beganNs);
        if (!left.isPositive()) {
            throw new LiteTimeoutException(
                    "the wait for the rate limiter \"%s\" took all of the deadline of %s; the call was not done"
                            .formatted(
                                    rateLimiter.getName(),
                                    DurationStyle.SIMPLE.print(callDeadline, ChronoUnit.MILLIS)));
        }
        return left;
    }

    /** A call that was permitted had an answer, also an error of its handler: its node works. */
    static void succeeded(@Nullable CircuitBreaker circuitBreaker, long beginNs) {
        if (circuitBreaker != null) {
            circuitBreaker.onSuccess(System.nanoTime() - beginNs, TimeUnit.NANOSECONDS);
        }
    }

    /**
     * A call that was permitted failed. Only its failure by the other side shows that the node works. A timeout says nothing about the
     * node: a slow handler, a full port and the caller's own quota cause it, too. Nor does a call that did not begin, for example because
     * its request is too long. While this host's node is away, no failure says anything about the called node.
     */
    void failed(@Nullable CircuitBreaker circuitBreaker, long beginNs, Throwable failure) {
        if (circuitBreaker == null) {
            return;
        }
        if (failure instanceof RpcFailedException) {
            succeeded(circuitBreaker, beginNs);
        } else if (failure instanceof NodeUnreachableException && lite.isOpen()) {
            circuitBreaker.onError(System.nanoTime() - beginNs, TimeUnit.NANOSECONDS, failure);
        } else {
            circuitBreaker.releasePermission();
        }
    }

    /**
     * Executes an operation that may be repeated in any case, with its deadline, and then with what is left of that. The first attempt
     * costs only the time of its begin more than without a retry.
     */
    <T> T retry(Duration deadline, Function<Duration, T> operation) {
        long beginNs = System.nanoTime();
        try {
            return operation.apply(deadline);
        } catch (LiteException failure) {
            return repeat(failure, new Limit(beginNs, deadline), operation, true);
        }
    }

    /** {@link #retry(Duration, Function)} for an operation with the session's deadline. */
    <T> T retry(Supplier<T> operation) {
        return retry(deadline, left -> operation.get());
    }

    /**
     * Repeats an operation with the session's deadline that may be repeated in any case, after the failure of its first attempt.
     *
     * @param beginNs when the first attempt began
     */
    <T> T repeat(long beginNs, LiteException failure, Supplier<T> operation) {
        return repeat(failure, new Limit(beginNs, deadline), left -> operation.get(), true);
    }

    /**
     * Repeats a write after the failure of its first attempt. It is repeated only when it has not begun: a write whose connection
     * broke may still arrive, and must not arrive after the next one.
     *
     * @param beginNs when the first attempt began
     */
    void repeatWrite(long beginNs, LiteException failure, Runnable operation) {
        boolean unused = repeat(
                failure,
                new Limit(beginNs, deadline),
                left -> {
                    operation.run();
                    return true;
                },
                false);
    }

    /** Until when an operation may be repeated. */
    private record Limit(long beginNs, Duration deadline) {
        Duration left() {
            return deadline.minusNanos(System.nanoTime() - beginNs);
        }
    }

    private <T> T repeat(LiteException failure, Limit limit, Function<Duration, T> operation, boolean begun) {
        if (retry == null || !mayHelp(failure, limit, begun)) {
            throw failure;
        }
        return again(retry, operation, limit, begun, failure);
    }

    private <T> T again(
            Retry configured, Function<Duration, T> operation, Limit limit, boolean begun, LiteException first) {
        Retry.Context<T> context = configured.context();
        LiteException failure = first;
        for (int attempts = 1; ; attempts++) {
            if (pausesPast(limit, configured, attempts, failure)) {
                throw failure;
            }
            context.onRuntimeError(failure); // sleeps, or throws it after the last attempt
            Duration left = limit.left();
            if (!left.isPositive()) {
                throw failure;
            }
            try {
                T result = operation.apply(left);
                context.onComplete();
                return result;
            } catch (LiteException e) {
                if (!mayHelp(e, limit, begun)) {
                    throw e;
                }
                failure = e;
            }
        }
    }

    /** Whether the pause after so many attempts would last until the deadline. There is none after the last attempt. */
    private static boolean pausesPast(Limit limit, Retry configured, int attempts, LiteException failure) {
        RetryConfig config = configured.getRetryConfig();
        IntervalBiFunction<Object> pauseMs = config.getIntervalBiFunction();
        return attempts < config.getMaxAttempts()
                && Duration.ofMillis(pauseMs.apply(attempts, Either.left(failure)))
                                .compareTo(limit.left())
                        >= 0;
    }

    /** Not after a deadline, and not while this host's node is away: then the operation has waited long enough. */
    private boolean mayHelp(LiteException failure, Limit limit, boolean begun) {
        boolean transientFailure = failure instanceof NodeUnreachableException
                || failure instanceof ClusterUnavailableException
                || (begun && failure instanceof LmrUnavailableException);
        return transientFailure && limit.left().isPositive() && lite.isOpen();
    }
}
