package dev.lite.boot.resilience;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcOutcome;
import dev.lite.boot.AttachOptionsCustomizer;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.client.fake.FakeLite;
import dev.lite.testing.Waits;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.resilience4j.retry.RetryRegistry;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class LiteResilienceTests {

    private static final Duration DEADLINE = Waits.seconds(20);
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final MemorySegment EMPTY = MemorySegment.ofArray(new byte[0]);

    private final FakeLite lite = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x")).knowing("a", 7);
    private final CircuitBreakerRegistry circuitBreakers = CircuitBreakerRegistry.ofDefaults();
    private final RetryRegistry retries = RetryRegistry.ofDefaults();

    private final ApplicationContextRunner withoutSession = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(LiteResilienceAutoConfiguration.class, LiteClientAutoConfiguration.class))
            .withBean(CircuitBreakerRegistry.class, () -> circuitBreakers)
            .withBean(RetryRegistry.class, () -> retries)
            .withPropertyValues("lite.client.resilience.retry.wait-duration=1ms");
    private final ApplicationContextRunner runner = withoutSession.withBean(Lite.class, () -> lite);

    private void serve(boolean reachable) {
        lite.rpc().unreachable = !reachable;
        var unused = lite.rpc().register("f", 1, call -> EMPTY);
    }

    private static void call(LtRpc rpc) {
        byte[] unused = rpc.call("node-2", "f", new byte[0], DEADLINE);
    }

    private static void assertUnreachable(LtRpc rpc, int calls) {
        for (int index = 0; index < calls; index++) {
            assertThatThrownBy(() -> call(rpc))
                    .isInstanceOf(NodeUnreachableException.class)
                    .hasMessageContaining("no connection");
        }
    }

    @Test
    void callsToAnUnreachableNodeFailAtOnceUntilOneSucceedsAgain() {
        serve(false);
        runner.withPropertyValues(
                        "lite.client.resilience.circuit-breaker.wait-duration-in-open-state=1h",
                        "lite.client.resilience.circuit-breaker.permitted-calls-in-half-open-state=1")
                .run(context -> {
                    LtRpc rpc = context.getBean(LtRpc.class);
                    assertUnreachable(rpc, 5);
                    assertThatThrownBy(() -> call(rpc))
                            .isInstanceOf(NodeUnreachableException.class)
                            .hasMessage("the circuit breaker \"lite-node-2\" is OPEN: 100 % of the last calls did not"
                                    + " reach the node");
                    assertThatThrownBy(() -> rpc.call("node-3", "f", new byte[0], DEADLINE))
                            .hasMessage("no connection to node-3");
                    lite.rpc().unreachable = false;
                    CircuitBreaker circuitBreaker = circuitBreakers.circuitBreaker("lite-node-2");
                    assertThat(circuitBreaker
                                    .getCircuitBreakerConfig()
                                    .getWaitIntervalFunctionInOpenState()
                                    .apply(1))
                            .isEqualTo(Duration.ofHours(1).toMillis());
                    circuitBreaker.transitionToHalfOpenState(); // as it does after that time
                    call(rpc);
                    assertThat(circuitBreaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
                });
    }

    /** Until it has enough calls, a circuit breaker has no rate of failures. */
    @Test
    void aCallThatACircuitBreakerRefusesBesideItsTrialCallsHasTheirNumber() {
        runner.withPropertyValues("lite.client.resilience.circuit-breaker.permitted-calls-in-half-open-state=2")
                .run(context -> {
                    RpcClient client = context.getBean(LtRpc.class).bind("node-2", "f");
                    CircuitBreaker circuitBreaker = circuitBreakers.circuitBreaker("lite-node-2");
                    circuitBreaker.transitionToOpenState();
                    circuitBreaker.transitionToHalfOpenState();
                    circuitBreaker.acquirePermission();
                    circuitBreaker.acquirePermission(); // two trial calls
                    assertThatThrownBy(() -> client.call(new byte[0], DEADLINE))
                            .isInstanceOf(NodeUnreachableException.class)
                            .hasMessage(
                                    "the circuit breaker \"lite-node-2\" is HALF_OPEN: 2 calls on trial may be under way");
                    circuitBreaker.transitionToForcedOpenState();
                    assertThatThrownBy(() -> client.call(new byte[0], DEADLINE))
                            .isInstanceOf(NodeUnreachableException.class)
                            .hasMessage("the circuit breaker \"lite-node-2\" is FORCED_OPEN: it permits no calls");
                });
    }

    /** For example because its request is too long. */
    @Test
    void aCallThatFailsBeforeItsNodeAnswersClosesNoCircuitBreaker() {
        serve(false);
        runner.withPropertyValues("lite.client.resilience.circuit-breaker.permitted-calls-in-half-open-state=1")
                .run(context -> {
                    LtRpc rpc = context.getBean(LtRpc.class);
                    assertUnreachable(rpc, 5);
                    CircuitBreaker circuitBreaker = circuitBreakers.circuitBreaker("lite-node-2");
                    circuitBreaker.transitionToHalfOpenState();
                    lite.rpc().unreachable = false;
                    lite.rpc().failures.add(new LimitExceededException("the request is too long"));
                    assertThatThrownBy(() -> call(rpc)).isInstanceOf(LimitExceededException.class);
                    assertThat(circuitBreaker.getState()).isEqualTo(CircuitBreaker.State.HALF_OPEN);
                    call(rpc);
                    assertThat(circuitBreaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
                });
    }

    /** They may belong to clusters whose nodes have the same names. */
    @Test
    void failuresOfOneSessionOpenNoCircuitBreakerOfAnother() {
        serve(false);
        FakeLite own = new FakeLite(AttachOptions.to(Path.of("/tmp/y.sock"), "y"));
        var unused = own.rpc().register("f", 1, call -> EMPTY);
        withoutSession
                .withBean("main", Lite.class, () -> lite, definition -> definition.setPrimary(true))
                .withBean("other", Lite.class, () -> own)
                .run(context -> {
                    LtRpc rpc = context.getBean(LtRpc.class);
                    assertUnreachable(rpc, 5);
                    assertThatThrownBy(() -> call(rpc)).hasMessageContaining("\"lite-node-2\" is OPEN");
                    LtRpc other = context.getBean("other", Lite.class).rpc();
                    call(other);
                    own.rpc().unreachable = true;
                    assertUnreachable(other, 4); // the fifth call
                    assertThatThrownBy(() -> call(other)).hasMessageContaining("\"lite-other:node-2\" is OPEN");
                });
    }

    @Test
    void theCircuitBreakersOfNodesThatComeAndGoAreBounded() {
        CircuitBreaker own = circuitBreakers.circuitBreaker("lite-node-0");
        runner.run(context -> {
            LtRpc rpc = context.getBean(LtRpc.class);
            for (int node = 0; node < 3000; node++) {
                RpcClient unused = rpc.bind("node-" + node, "f");
            }
            assertThat(circuitBreakers.getAllCircuitBreakers()).hasSize(1024 + 1);
            assertThat(circuitBreakers.find("lite-node-2999")).isPresent();
            assertThat(circuitBreakers.find("lite-node-0"))
                    .as("that of the application")
                    .contains(own);
        });
    }

    @Test
    void asynchronousCallsCountToo() {
        serve(false);
        runner.run(context -> {
            LtRpc rpc = context.getBean(LtRpc.class);
            for (int index = 0; index < 5; index++) {
                CompletableFuture<byte[]> call = rpc.callAsync("node-2", "f", new byte[0], DEADLINE);
                assertThat(call).failsWithin(DEADLINE).withThrowableOfType(ExecutionException.class);
            }
            Waits.until(
                    "the circuit breaker is open",
                    () -> circuitBreakers.circuitBreaker("lite-node-2").getState() == CircuitBreaker.State.OPEN);
            assertThatThrownBy(() -> rpc.callAsync("node-2", "f", new byte[0], DEADLINE))
                    .isInstanceOf(NodeUnreachableException.class);
        });
    }

    @Test
    void aMulticastHasAnOutcomeForANodeWhoseCircuitBreakerIsOpen() {
        serve(false);
        runner.run(context -> {
            LtRpc rpc = context.getBean(LtRpc.class);
            assertUnreachable(rpc, 5);
            lite.rpc().unreachable = false;
            Map<String, RpcOutcome> outcomes =
                    rpc.multicast(List.of("node-1", "node-2", "node-3"), "f", new byte[0], DEADLINE);
            assertThat(outcomes.keySet()).containsExactly("node-1", "node-2", "node-3");
            assertThat(outcomes)
                    .hasEntrySatisfying(
                            "node-1", outcome -> assertThat(outcome.failure()).isNull());
            assertThat(outcomes)
                    .hasEntrySatisfying(
                            "node-2",
                            outcome -> assertThat(outcome.failure())
                                    .isInstanceOf(NodeUnreachableException.class)
                                    .hasMessageContaining("is OPEN"));
            assertThat(outcomes)
                    .hasEntrySatisfying(
                            "node-3", outcome -> assertThat(outcome.failure()).isNull());
        });
    }

    @Test
    void anErrorOfTheHandlerOpensNothing() {
        var unused = lite.rpc().register("f", 1, call -> {
            throw new IllegalArgumentException("no such price");
        });
        runner.run(context -> {
            for (int index = 0; index < 30; index++) {
                assertThatThrownBy(() -> call(context.getBean(LtRpc.class))).isInstanceOf(RpcFailedException.class);
            }
        });
    }

    @Test
    void slowCallsOpenNoCircuitBreaker() {
        lite.rpc().failures.addAll(Collections.nCopies(30, new LiteTimeoutException("no reply")));
        serve(true);
        runner.run(context -> {
            LtRpc rpc = context.getBean(LtRpc.class);
            for (int index = 0; index < 30; index++) {
                assertThatThrownBy(() -> call(rpc)).isInstanceOf(LiteTimeoutException.class);
            }
            CircuitBreaker circuitBreaker = circuitBreakers.circuitBreaker("lite-node-2");
            assertThat(circuitBreaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
            assertThat(circuitBreaker.getMetrics().getNumberOfBufferedCalls()).isZero();
            call(rpc);
        });
    }

    @Test
    void theLossOfTheOwnNodeOpensNoCircuitBreakerOfAnother() {
        serve(false);
        lite.lose();
        runner.run(context -> assertUnreachable(context.getBean(LtRpc.class), 30));
    }

    @Test
    void mapAndReadAreRepeatedAndAWriteOnlyIfItHasNotBegun() {
        runner.run(context -> {
            LtMemory memory = context.getBean(LtMemory.class);
            lite.failures.add(new ClusterUnavailableException("no ZooKeeper"));
            LmrHandle handle = memory.map("a", Permission.READ, Permission.WRITE);
            lite.known("a").failures.add(new LmrUnavailableException("broken"));
            handle.read(0, new byte[8]);
            assertThat(lite.known("a").calls).hasValue(2);
            lite.known("a").failures.add(new NodeUnreachableException("not connected"));
            handle.write(0, new byte[8]);
            assertThat(lite.known("a").calls).hasValue(4);
            lite.known("a").failures.add(new LmrUnavailableException("broken"));
            assertThatThrownBy(() -> handle.write(0, new byte[8])).isInstanceOf(LmrUnavailableException.class);
            lite.known("a").failures.add(new LiteTimeoutException("too late"));
            assertThatThrownBy(() -> handle.read(0, new byte[8])).isInstanceOf(LiteTimeoutException.class);
            assertThat(retries.retry("lite").getMetrics().getNumberOfSuccessfulCallsWithRetryAttempt())
                    .isEqualTo(3);
        });
    }

    @Test
    void aWordIsReadAndWrittenWithTheSameRetries() {
        runner.run(context -> {
            LmrHandle handle = context.getBean(LtMemory.class).map("a", Permission.READ, Permission.WRITE);
            lite.known("a").failures.add(new LmrUnavailableException("broken"));
            assertThat(handle.getLong(0)).isEqualTo(5);
            lite.known("a").failures.add(new LmrUnavailableException("broken"));
            assertThat(handle.getInt(0)).isEqualTo(5);
            assertThat(lite.known("a").calls).hasValue(4);
            lite.known("a").failures.add(new NodeUnreachableException("not connected"));
            handle.putLong(0, 1);
            lite.known("a").failures.add(new NodeUnreachableException("not connected"));
            handle.putInt(0, 1);
            assertThat(lite.known("a").calls).hasValue(8);
            lite.known("a").failures.add(new LmrUnavailableException("broken"));
            assertThatThrownBy(() -> handle.putLong(0, 1)).isInstanceOf(LmrUnavailableException.class);
            lite.known("a").failures.add(new LmrUnavailableException("broken"));
            assertThatThrownBy(() -> handle.putInt(0, 1)).isInstanceOf(LmrUnavailableException.class);
            assertThat(lite.known("a").calls).hasValue(10);
        });
    }

    @Test
    void theLastAttemptThrowsItsFailure() {
        runner.run(context -> {
            LtMemory memory = context.getBean(LtMemory.class);
            for (int index = 0; index < 3; index++) {
                lite.failures.add(new ClusterUnavailableException("no ZooKeeper " + index));
            }
            assertThatThrownBy(() -> memory.map("a", Permission.READ)).hasMessage("no ZooKeeper 2");
            assertThat(memory.map("a", Permission.READ).id()).isEqualTo(7);
        });
    }

    /** A customizer may change the deadline of the properties. */
    @Test
    void nothingIsRepeatedAfterTheDeadlineOfTheSession() {
        AtomicReference<FakeLite> attached = new AtomicReference<>();
        withoutSession
                .withPropertyValues("lite.client.deadline=1h")
                .withBean(AttachOptionsCustomizer.class, () -> options -> options.withDeadline(SHORT))
                .withBean(BeanPostProcessor.class, () -> new BeanPostProcessor() {
                    @Override
                    public Object postProcessBeforeInitialization(Object bean, String name) {
                        if (bean instanceof FakeLite unprotected) {
                            attached.set(unprotected);
                        }
                        return bean;
                    }
                })
                .run(context -> assertNothingIsRepeatedAfterTheDeadline(
                        context.getBean(LtMemory.class), Objects.requireNonNull(attached.get())));
    }

    /** Such as that of an embedded node, which does not know the properties of the client. */
    @Test
    void nothingIsRepeatedAfterTheDeadlineOfASessionOfTheApplication() {
        FakeLite own = new FakeLite(lite.options.withDeadline(SHORT));
        withoutSession
                .withPropertyValues("lite.client.deadline=1h")
                .withBean(Lite.class, () -> own)
                .run(context -> assertNothingIsRepeatedAfterTheDeadline(context.getBean(LtMemory.class), own));
    }

    private static void assertNothingIsRepeatedAfterTheDeadline(LtMemory memory, FakeLite session) {
        FakeLite known = session.knowing("a", 7);
        LmrHandle handle = memory.map("a", Permission.READ, Permission.WRITE);
        // Each attempt lasts as long as the deadline allows.
        known.whenMapping = () -> Waits.pass(SHORT);
        known.known("a").whenCalled = known.whenMapping;
        known.failures.add(new ClusterUnavailableException("no ZooKeeper"));
        assertThatThrownBy(() -> memory.map("a", Permission.READ)).hasMessage("no ZooKeeper");
        known.known("a").failures.add(new LmrUnavailableException("broken"));
        assertThatThrownBy(() -> handle.read(0, new byte[8])).hasMessage("broken");
        known.known("a").failures.add(new LmrUnavailableException("broken"));
        assertThatThrownBy(() -> handle.getLong(0)).hasMessage("broken");
        known.known("a").failures.add(new NodeUnreachableException("not connected"));
        assertThatThrownBy(() -> handle.write(0, new byte[8])).hasMessage("not connected");
        assertThat(known.known("a").calls).hasValue(3);
    }

    @Test
    void furtherAttemptsHaveWhatIsLeftOfTheDeadlineOfTheCall() {
        runner.run(context -> {
            LtMemory memory = context.getBean(LtMemory.class);
            lite.whenMapping = () -> Waits.pass(Duration.ofMillis(20));
            lite.failures.add(new ClusterUnavailableException("no ZooKeeper"));
            var unused = memory.map("a", Set.of(Permission.READ), DEADLINE);
            assertThat(lite.deadlines).hasSize(2).first().isEqualTo(DEADLINE);
            assertThat(lite.deadlines)
                    .last()
                    .satisfies(left -> assertThat(left).isPositive().isLessThanOrEqualTo(DEADLINE.minusMillis(20)));
            lite.failures.add(new ClusterUnavailableException("no ZooKeeper"));
            assertThatThrownBy(() -> memory.map("a", Set.of(Permission.READ), Duration.ofMillis(20)))
                    .hasMessage("no ZooKeeper");
            assertThat(lite.deadlines).hasSize(3);
        });
    }

    @Test
    void thePauseBeforeAnAttemptIsPartOfTheDeadline() {
        runner.withPropertyValues("lite.client.resilience.retry.wait-duration=100ms")
                .run(context -> {
                    lite.failures.add(new ClusterUnavailableException("no ZooKeeper"));
                    assertThatThrownBy(() -> context.getBean(LtMemory.class)
                                    .map("a", Set.of(Permission.READ), Duration.ofMillis(50)))
                            .hasMessage("no ZooKeeper");
                    assertThat(lite.deadlines).hasSize(1);
                });
    }

    @Test
    void aPauseThatIsLongerThanWhatIsLeftOfTheDeadlineIsNotBegun() {
        runner.withPropertyValues("lite.client.resilience.retry.wait-duration=1h")
                .run(context -> {
                    lite.failures.add(new ClusterUnavailableException("no ZooKeeper"));
                    LtMemory memory = context.getBean(LtMemory.class);
                    CompletableFuture<?> mapped = CompletableFuture.supplyAsync(
                            () -> memory.map("a", Set.of(Permission.READ), DEADLINE),
                            work -> Thread.ofVirtual().start(work));
                    assertThat(mapped).failsWithin(DEADLINE).withThrowableThat().withMessageContaining("no ZooKeeper");
                    assertThat(lite.deadlines).hasSize(1);
                });
    }

    @Test
    void theRateLimiterLimitsTheCallsOfTheApplication() {
        serve(true);
        runner.withPropertyValues(
                        "lite.client.resilience.rate-limiter.enabled=true",
                        "lite.client.resilience.rate-limiter.limit-for-period=2",
                        "lite.client.resilience.rate-limiter.limit-refresh-period=1h")
                .run(context -> {
                    LtRpc rpc = context.getBean(LtRpc.class);
                    call(rpc);
                    call(rpc);
                    assertThatThrownBy(() -> call(rpc))
                            .isInstanceOf(LimitExceededException.class)
                            .hasMessageContaining("permits 2 calls in 3600000ms");
                });
    }

    @Test
    void theWaitForTheRateLimiterIsPartOfTheDeadlineOfACall() {
        serve(true);
        RateLimiterRegistry rateLimiters = RateLimiterRegistry.ofDefaults();
        runner.withBean(RateLimiterRegistry.class, () -> rateLimiters)
                .withPropertyValues("lite.client.resilience.rate-limiter.enabled=true")
                .run(context -> {
                    LtRpc rpc = context.getBean(LtRpc.class);
                    rateLimiters.rateLimiter("lite").getEventPublisher().onSuccess(acquired -> Waits.pass(SHORT));
                    call(rpc);
                    assertThat(lite.rpc().lastDeadline()).isLessThanOrEqualTo(DEADLINE.minus(SHORT));
                    RpcClient client = rpc.bind("node-2", "f");
                    for (ThrowingCallable late : List.<ThrowingCallable>of(
                            () -> client.call(new byte[0], SHORT),
                            () -> client.call(EMPTY, EMPTY, SHORT),
                            () -> client.callAsync(new byte[0], SHORT),
                            () -> rpc.send("node-2", "p", EMPTY, SHORT))) {
                        assertThatThrownBy(late)
                                .isInstanceOf(LiteTimeoutException.class)
                                .hasMessageContaining("the rate limiter \"lite\"");
                    }
                });
    }

    @Test
    void theBulkheadRefusesMoreCallsThanItPermits() {
        runner.withPropertyValues(
                        "lite.client.resilience.bulkhead.enabled=true",
                        "lite.client.resilience.bulkhead.max-concurrent-calls=1")
                .run(context -> {
                    LtRpc rpc = context.getBean(LtRpc.class);
                    CountDownLatch entered = new CountDownLatch(1);
                    CountDownLatch release = new CountDownLatch(1);
                    var unused = rpc.register("f", 8, call -> {
                        entered.countDown();
                        Waits.await(release);
                        return EMPTY;
                    });
                    CompletableFuture<byte[]> first = rpc.callAsync("node-2", "f", new byte[0], DEADLINE);
                    Waits.await(entered);
                    assertThatThrownBy(() -> call(rpc))
                            .isInstanceOf(RpcFailedException.class)
                            .hasMessageContaining("the bulkhead \"lite-f\" permits 1 call of");
                    release.countDown();
                    assertThat(first).succeedsWithin(DEADLINE);
                });
    }

    @Test
    void eachIsOffByOneProperty() {
        String[] off = {
            "lite.client.resilience.circuit-breaker.enabled=false", "lite.client.resilience.retry.enabled=false"
        };
        runner.withPropertyValues(off)
                .run(context -> assertThat(context.getBean(Lite.class)).isSameAs(lite));
        runner.withPropertyValues(off[0]).run(context -> {
            assertThat(context.getBean(LtRpc.class)).isSameAs(lite.rpc());
            assertThat(context.getBean(LtMemory.class)).isNotSameAs(lite.memory());
        });
        runner.withPropertyValues(off[1]).run(context -> {
            assertThat(context.getBean(LtMemory.class)).isSameAs(lite.memory());
            assertThat(context.getBean(LtRpc.class)).isNotSameAs(lite.rpc());
        });
    }

    @Test
    void withoutResilience4jTheSessionIsNotWrapped() {
        new ApplicationContextRunner()
                .withConfiguration(
                        AutoConfigurations.of(LiteResilienceAutoConfiguration.class, LiteClientAutoConfiguration.class))
                .withBean(Lite.class, () -> lite)
                .withClassLoader(new FilteredClassLoader("io.github.resilience4j"))
                .run(context -> assertThat(context.getBean(Lite.class)).isSameAs(lite));
    }
}
