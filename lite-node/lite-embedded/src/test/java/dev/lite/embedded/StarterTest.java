package dev.lite.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.boot.LiteRpcAutoConfiguration;
import dev.lite.boot.LtRpcHandler;
import dev.lite.boot.LtRpcTemplate;
import dev.lite.boot.client.ImportLtRpcClients;
import dev.lite.boot.client.LtRpcClient;
import dev.lite.boot.lock.LiteLock;
import dev.lite.boot.lock.LiteLockAutoConfiguration;
import dev.lite.boot.lock.LiteLocks;
import dev.lite.boot.region.LiteRegion;
import dev.lite.boot.region.LiteRegionAutoConfiguration;
import dev.lite.testing.Waits;
import dev.lite.testing.boot.AnalysisRecorder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** The starter's clients, regions and locks with a node. */
class StarterTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    ConfigurationPropertiesAutoConfiguration.class,
                    LiteEmbeddedAutoConfiguration.class,
                    LiteClientAutoConfiguration.class,
                    LiteRpcAutoConfiguration.class,
                    LiteLockAutoConfiguration.class,
                    LiteRegionAutoConfiguration.class))
            .withPropertyValues("lite.embedded.arena-size=16MB");

    @LtRpcClient(node = "${lite.embedded.name:embedded}")
    interface Echo {
        String shout(String text);

        CompletableFuture<String> shoutLater(String text);
    }

    static class EchoHandlers {
        @LtRpcHandler("shout")
        String shout(String text) {
            return text + "!";
        }

        @LtRpcHandler("shoutLater")
        String shoutLater(String text) {
            return text + "!!";
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ImportLtRpcClients(Echo.class)
    static class EchoClient {}

    @Test
    void aClientCallsAHandler() {
        runner.withUserConfiguration(EchoClient.class)
                .withBean(EchoHandlers.class)
                .run(context -> {
                    Echo echo = context.getBean(Echo.class);
                    assertThat(echo.shout("tea")).isEqualTo("tea!");
                    assertThat(echo.shoutLater("tea"))
                            .succeedsWithin(Waits.seconds(20))
                            .isEqualTo("tea!!");
                });
    }

    static class Counters {
        final LmrHandle counters;

        Counters(@LiteRegion(value = "counters", size = "4KB") LmrHandle counters) {
            this.counters = counters;
        }
    }

    @Test
    void aRegionIsCreatedAtItsFirstUseAndMayBeCopied() {
        runner.withBean(Counters.class).run(context -> {
            LmrHandle counters = context.getBean(Counters.class).counters;
            LtMemory memory = context.getBean(LtMemory.class);
            assertThat(counters.fetchAdd(8, 5)).isZero();
            assertThat(counters.size()).isEqualTo(4096);
            try (LmrHandle copy = memory.malloc(LmrSpec.of(4096))) {
                memory.memcpy(counters, 0, copy, 0, 4096);
                assertThat(copy.fetchAdd(8, 0)).isEqualTo(5);
            }
        });
    }

    static class Stock {
        private final AtomicInteger inside = new AtomicInteger();

        @LiteLock("stock")
        long take() {
            assertThat(inside.incrementAndGet()).isEqualTo(1);
            long token = LiteLocks.current().fencingToken();
            assertThat(inside.decrementAndGet()).isZero();
            return token;
        }

        @LiteLock("stock")
        void hold(CountDownLatch held, CountDownLatch release) {
            held.countDown();
            Waits.await(release);
        }

        @LiteLock("stock")
        void tryAsLongAsTheSessionAllows() {
            throw new AssertionError("the lock is not free");
        }

        @LiteLock(value = "stock", deadline = "100ms")
        void tryBriefly() {
            throw new AssertionError("the lock is not free");
        }
    }

    @Test
    void oneThreadAtATimeIsInALockedMethod() {
        runner.withBean(Stock.class).run(context -> {
            Stock stock = context.getBean(Stock.class);
            List<CompletableFuture<Long>> tokens = new ArrayList<>();
            for (int index = 0; index < 8; index++) {
                tokens.add(CompletableFuture.supplyAsync(
                        stock::take, work -> Thread.ofPlatform().start(work)));
            }
            assertThat(tokens.stream().map(CompletableFuture::join)).doesNotHaveDuplicates();
        });
    }

    @Test
    void aMethodDoesNotRunWithoutItsLock() {
        runner.withBean(Stock.class).run(context -> {
            Stock stock = context.getBean(Stock.class);
            CountDownLatch held = new CountDownLatch(1);
            CountDownLatch release = new CountDownLatch(1);
            Thread holder = Thread.ofPlatform().start(() -> stock.hold(held, release));
            Waits.await(held);
            assertThatThrownBy(stock::tryBriefly).isInstanceOf(LiteTimeoutException.class);
            release.countDown();
            Waits.join(holder);
        });
    }

    @Test
    void theDeadlineOfAnEmbeddedNodeIsThatOfCallsAndLockedMethods() {
        runner.withBean(Stock.class)
                .withPropertyValues("lite.embedded.deadline=1500ms")
                .run(context -> {
                    assertThat(context.getBean(LtRpcTemplate.class).deadline()).isEqualTo(Duration.ofMillis(1500));
                    Stock stock = context.getBean(Stock.class);
                    CountDownLatch held = new CountDownLatch(1);
                    CountDownLatch release = new CountDownLatch(1);
                    Thread holder = Thread.ofPlatform().start(() -> stock.hold(held, release));
                    Waits.await(held);
                    assertThatThrownBy(stock::tryAsLongAsTheSessionAllows)
                            .isInstanceOf(LiteTimeoutException.class)
                            .hasMessageContaining("1.5 s");
                    release.countDown();
                    Waits.join(holder);
                });
    }

    /** As the command "lite env" prints them. */
    @Test
    void variablesOfTheEnvironmentNameTheSecretsFile() {
        Map<String, Object> variables = Map.of("LITE_EMBEDDED_SECRET_FILE", "/nowhere/secret");
        runner.withInitializer(context -> context.getEnvironment()
                        .getPropertySources()
                        .addFirst(new SystemEnvironmentPropertySource(
                                "test-" + StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables)))
                .run(context -> assertThat(context).getFailure().rootCause().hasMessageContaining("/nowhere/secret"));
    }

    @Test
    void aNodeThatCannotStartIsExplained() {
        FailureAnalysis former = AnalysisRecorder.take();
        assertThat(former).isNull();

        assertThatThrownBy(() -> new SpringApplicationBuilder(Unreachable.class)
                        .web(WebApplicationType.NONE)
                        .run(
                                "--lite.embedded.zookeeper=127.0.0.1:1",
                                "--lite.embedded.cluster=c",
                                "--lite.embedded.deadline=300ms"))
                .hasRootCauseInstanceOf(ClusterUnavailableException.class);

        FailureAnalysis analysis = AnalysisRecorder.take();
        assertThat(analysis).isNotNull();
        assertThat(analysis.getDescription())
                .startsWith("The application could not start its own node: ZooKeeper at 127.0.0.1:1 cannot be reached");
        assertThat(analysis.getAction()).contains("lite.embedded.zookeeper");
    }

    @Test
    void aZooKeeperWithoutTheNameOfItsClusterIsExplained() {
        FailureAnalysis former = AnalysisRecorder.take();
        assertThat(former).isNull();

        assertThatThrownBy(() -> new SpringApplicationBuilder(Unreachable.class)
                        .web(WebApplicationType.NONE)
                        .run("--lite.embedded.zookeeper=127.0.0.1:1", "--lite.embedded.deadline=300ms"))
                .hasRootCauseInstanceOf(IllegalArgumentException.class);

        FailureAnalysis analysis = AnalysisRecorder.take();
        assertThat(analysis).isNotNull();
        assertThat(analysis.getDescription())
                .startsWith(
                        "The application could not start its own node: the ZooKeeper is 127.0.0.1:1, and the cluster has no name; set lite.embedded.cluster ");
        assertThat(analysis.getAction()).contains("lite.embedded.*");
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({LiteEmbeddedAutoConfiguration.class, LiteClientAutoConfiguration.class})
    static class Unreachable {
        @Bean
        Counters user(LtMemory memory) {
            return new Counters(memory.malloc(LmrSpec.of(4096)));
        }
    }
}
