package dev.lite.boot.observe;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.client.fake.FakeLite;
import dev.lite.testing.Waits;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class LiteObserveTests {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    LiteClientAutoConfiguration.class,
                    LiteEndpointAutoConfiguration.class,
                    LiteMetricsAutoConfiguration.class));

    private static FakeLite busy() {
        FakeLite lite = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
        lite.statistics = new LiteStatistics(
                Map.of(Kind.READ, new Count(3, 192)), 2, List.of("price", "echo"), List.of("news"), List.of("stock"));
        return lite;
    }

    @Test
    void theEndpointShowsTheSession() {
        runner.withBean(Lite.class, LiteObserveTests::busy)
                .withPropertyValues("management.endpoints.web.exposure.include=lite")
                .run(context -> assertThat(context.getBean(LiteEndpoint.class).session())
                        .isEqualTo(new LiteEndpoint.Session(
                                true,
                                "fake-1",
                                2,
                                List.of("echo", "price"),
                                List.of("news"),
                                List.of("stock"),
                                Map.of("read", new Count(3, 192)),
                                Map.of("fake-1", "local", "fake-2", "shm"))));
    }

    @Test
    void theEndpointDoesNotAskANodeThatIsAway() {
        FakeLite lost = busy();
        lost.lose();
        LiteEndpoint.Session session = new LiteEndpoint(lost).session();
        assertThat(session.open()).isFalse();
        assertThat(session.node()).isNull();
        assertThat(session.fabrics()).isEmpty();
        assertThat(session.operations()).containsKey("read");
    }

    @Test
    void theEndpointShowsTheSessionWithoutTheFabricsWhileTheNodeHangs() {
        CountDownLatch answers = new CountDownLatch(1);
        FakeLite hung = busy();
        hung.whenListing = () -> Waits.await(answers);
        LiteEndpoint.Session session = new LiteEndpoint(hung).session();
        answers.countDown();
        assertThat(session.open()).isTrue();
        assertThat(session.fabrics()).isEmpty();
        assertThat(session.operations()).containsKey("read");
    }

    @Test
    void thereIsNoEndpointThatNobodyCanReach() {
        runner.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LiteEndpoint.class));
    }

    @Test
    void theMetricsCountOperationsAndTimeSamples() {
        FakeLite lite = busy();
        runner.withBean(Lite.class, () -> lite)
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .run(context -> {
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    context.getBean(LiteMetrics.class).bindTo(registry);
                    assertThat(registry.get("lite.client.operations")
                                    .tag("kind", "read")
                                    .functionCounter()
                                    .count())
                            .isEqualTo(3);
                    assertThat(registry.get("lite.client.operation.size")
                                    .tag("kind", "read")
                                    .functionCounter()
                                    .count())
                            .isEqualTo(192);
                    assertThat(registry.get("lite.client.locks").gauge().value())
                            .isEqualTo(1);
                    Objects.requireNonNull(lite.sampler)
                            .sampled(Kind.READ, Duration.ofMillis(3).toNanos());
                    assertThat(registry.get("lite.client.operation.sampled")
                                    .tag("kind", "read")
                                    .timer()
                                    .totalTime(TimeUnit.MILLISECONDS))
                            .isEqualTo(3);
                });
    }

    @Test
    void theMetricsOfSeveralSessionsHaveATagWithTheNameOfTheBean() {
        FakeLite orders = busy();
        FakeLite stock = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
        runner.withBean("orders", Lite.class, () -> orders)
                .withBean("stock", Lite.class, () -> stock)
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .run(context -> {
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    context.getBean(LiteMetrics.class).bindTo(registry);
                    assertThat(registry.get("lite.client.handles")
                                    .tag("session", "orders")
                                    .gauge()
                                    .value())
                            .isEqualTo(2);
                    assertThat(registry.get("lite.client.handles")
                                    .tag("session", "stock")
                                    .gauge()
                                    .value())
                            .isZero();
                    assertThat(registry.get("lite.client.operations")
                                    .tags("kind", "read", "session", "orders")
                                    .functionCounter()
                                    .count())
                            .isEqualTo(3);
                    Objects.requireNonNull(stock.sampler)
                            .sampled(Kind.READ, Duration.ofMillis(3).toNanos());
                    assertThat(registry.get("lite.client.operation.sampled")
                                    .tags("kind", "read", "session", "stock")
                                    .timer()
                                    .count())
                            .isEqualTo(1);
                    assertThat(registry.get("lite.client.operation.sampled")
                                    .tags("kind", "read", "session", "orders")
                                    .timer()
                                    .count())
                            .isZero();
                });
    }

    @Test
    void theEndpointShowsEachOfSeveralSessionsByTheNameOfItsBean() {
        runner.withBean("orders", Lite.class, LiteObserveTests::busy)
                .withBean("stock", Lite.class, () -> new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x")))
                .withPropertyValues("management.endpoints.web.exposure.include=lite")
                .run(context -> {
                    Map<String, LiteEndpoint.Session> sessions =
                            context.getBean(LiteSessionsEndpoint.class).sessions();
                    assertThat(sessions).containsOnlyKeys("orders", "stock");
                    assertThat(Objects.requireNonNull(sessions.get("orders")).handles())
                            .isEqualTo(2);
                    assertThat(Objects.requireNonNull(sessions.get("stock")).handles())
                            .isZero();
                    assertThat(context).doesNotHaveBean(LiteEndpoint.class);
                });
    }

    @Test
    void thereAreNoMetricsWithoutARegistry() {
        runner.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LiteMetrics.class));
    }
}
