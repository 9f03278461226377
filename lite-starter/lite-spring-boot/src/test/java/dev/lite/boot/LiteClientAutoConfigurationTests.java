package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LtMemory;
import dev.lite.client.fake.FakeLite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

class LiteClientAutoConfigurationTests {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    ConfigurationPropertiesAutoConfiguration.class,
                    LiteClientAutoConfiguration.class,
                    LiteHealthContributorAutoConfiguration.class));

    @Test
    void createsASessionAndItsMemory() {
        runner.run(context -> {
            assertThat(context).hasSingleBean(Lite.class).hasSingleBean(LtMemory.class);
            assertThat(context.getBean(Lite.class).isOpen()).isTrue();
            assertThat(context.getBean(LtMemory.class))
                    .isSameAs(context.getBean(Lite.class).memory());
        });
    }

    @Test
    void closesTheSessionWithTheContext() {
        Lite[] lite = new Lite[1];
        runner.run(context -> lite[0] = context.getBean(Lite.class));
        assertThat(lite[0].isOpen()).isFalse();
    }

    @Test
    void bindsEveryProperty() {
        runner.withPropertyValues(
                        "lite.client.socket=/tmp/x/n.sock",
                        "lite.client.application=billing",
                        "lite.client.token=s3cret",
                        "lite.client.deadline=3s",
                        "lite.client.lazy-attach=true",
                        "lite.client.alternative-sockets=/tmp/y/n.sock,/tmp/z/n.sock",
                        "lite.client.waiters-max=9",
                        "lite.client.start-deadline=1m")
                .run(context -> {
                    LiteClientProperties properties = context.getBean(LiteClientProperties.class);
                    assertThat(properties)
                            .isEqualTo(new LiteClientProperties(
                                    true,
                                    Path.of("/tmp/x/n.sock"),
                                    List.of(Path.of("/tmp/y/n.sock"), Path.of("/tmp/z/n.sock")),
                                    9,
                                    "billing",
                                    "s3cret",
                                    Duration.ofSeconds(3),
                                    true,
                                    Duration.ofMinutes(1)));
                    assertThat(properties.toString()).doesNotContain("s3cret");
                    AttachOptions options = attachOptions(context.getBean(Lite.class));
                    assertThat(options.alternatives()).isEqualTo(properties.alternativeSockets());
                    assertThat(options.waitersMax()).isEqualTo(9);
                });
    }

    @Test
    void anEmptyAlternativeSocketFailsTheStartWithItsPlaceInTheList() {
        runner.withPropertyValues("lite.client.alternative-sockets=/tmp/y/n.sock,,/tmp/z/n.sock")
                .run(
                        context -> assertThat(context)
                                .getFailure()
                                .rootCause()
                                .hasMessage(
                                        "lite.client.alternative-sockets[1] is \"\", which has 0 bytes; it must have 1 to 106"));
    }

    @Test
    void theApplicationsNameDefaultsToSpringsApplicationName() {
        runner.withPropertyValues("spring.application.name=orders")
                .run(context -> assertThat(
                                attachOptions(context.getBean(Lite.class)).application())
                        .isEqualTo("orders"));
        runner.withPropertyValues("spring.application.name=orders", "lite.client.application=billing")
                .run(context -> assertThat(
                                attachOptions(context.getBean(Lite.class)).application())
                        .isEqualTo("billing"));
        runner.run(
                context -> assertThat(attachOptions(context.getBean(Lite.class)).application())
                        .isEqualTo("application"));
    }

    @Test
    void theSessionAttachesAgainAfterALoss() {
        runner.run(
                context -> assertThat(attachOptions(context.getBean(Lite.class)).reattach())
                        .isTrue());
    }

    @Test
    void theStartWaitsForANodeThatIsNotThereYet() {
        runner.withPropertyValues("lite.client.socket=/tmp/late-a.sock", "lite.client.start-deadline=1m")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Lite.class));
    }

    @Test
    void theStartMayWaitForTheNodeWithoutAnEnd() {
        runner.withPropertyValues("lite.client.socket=/tmp/late-c.sock", "lite.client.start-deadline=1000000d")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Lite.class));
    }

    @Test
    void theSessionAttachesAtItsFirstUseIfSoConfigured() {
        runner.withPropertyValues("lite.client.lazy-attach=true")
                .run(context -> assertThat(
                                attachOptions(context.getBean(Lite.class)).lazy())
                        .isTrue());
        runner.run(context ->
                assertThat(attachOptions(context.getBean(Lite.class)).lazy()).isFalse());
    }

    @Test
    void theStartFailsWithoutAWaitOrAfterIt() {
        runner.withPropertyValues("lite.client.socket=/tmp/late-b.sock")
                .run(context -> assertThat(context).hasFailed());
        runner.withPropertyValues("lite.client.socket=/tmp/missing.sock", "lite.client.start-deadline=120ms")
                .run(context -> assertThat(context).getFailure().rootCause().hasMessageContaining("nobody listens at"));
        runner.withPropertyValues("lite.client.start-deadline=-1s")
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("lite.client.start-deadline is PT-1S; it must be 0 (no wait) or more"));
    }

    @Test
    void backsOffWhenDisabled() {
        runner.withPropertyValues("lite.client.enabled=false", "lite.client.socket=/tmp/missing.sock")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(Lite.class)
                        .doesNotHaveBean(LtMemory.class)
                        .doesNotHaveBean(LiteHealthIndicator.class));
    }

    @Test
    void backsOffWithoutTheApiOnTheClassPath() {
        runner.withClassLoader(new FilteredClassLoader(Lite.class))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean("lite")
                        .doesNotHaveBean("ltMemory"));
    }

    @Test
    void anApplicationsOwnSessionReplacesTheAutoConfiguredOne() {
        runner.withUserConfiguration(OwnLite.class)
                .withPropertyValues("lite.client.socket=/tmp/missing.sock")
                .run(context -> {
                    assertThat(context).hasNotFailed().hasSingleBean(Lite.class).hasSingleBean(LtMemory.class);
                    assertThat(context.getBean(Lite.class)).isInstanceOf(FakeLite.class);
                });
    }

    @Test
    void anApplicationsOwnMemoryReplacesTheAutoConfiguredOne() {
        runner.withUserConfiguration(OwnMemory.class).run(context -> {
            assertThat(context).hasSingleBean(LtMemory.class);
            assertThat(context.getBean(LtMemory.class)).isSameAs(OwnMemory.MEMORY);
        });
    }

    @Test
    void anApplicationsOwnConnectionDetailsReplaceTheProperties() {
        runner.withUserConfiguration(OwnDetails.class)
                .withPropertyValues("lite.client.socket=/tmp/missing.sock")
                .run(context -> {
                    assertThat(context).hasNotFailed().hasSingleBean(LiteConnectionDetails.class);
                    assertThat(attachOptions(context.getBean(Lite.class)).socket())
                            .isEqualTo(Path.of("/tmp/own.sock"));
                });
    }

    @Test
    void customizersChangeTheOptionsInTheirOrder() {
        runner.withUserConfiguration(Customizers.class)
                .withPropertyValues("lite.client.deadline=3s")
                .run(context -> {
                    AttachOptions options = attachOptions(context.getBean(Lite.class));
                    assertThat(options.deadline()).isEqualTo(Duration.ofSeconds(8));
                    assertThat(options.reattach()).isFalse();
                });
    }

    @Test
    void everyAutoConfigurationIsListedInTheImportsFile() {
        new ApplicationContextRunner()
                .withUserConfiguration(Application.class)
                .run(context -> assertThat(context).hasSingleBean(Lite.class).hasSingleBean(LiteHealthIndicator.class));
    }

    private static AttachOptions attachOptions(Lite lite) {
        return ((FakeLite) lite).options;
    }

    @Configuration(proxyBeanMethods = false)
    @org.springframework.boot.autoconfigure.EnableAutoConfiguration
    static class Application {}

    @Configuration(proxyBeanMethods = false)
    static class Customizers {
        @Bean
        @Order(2)
        AttachOptionsCustomizer longer() {
            return options -> options.withDeadline(options.deadline().plusSeconds(1));
        }

        @Bean
        @Order(1)
        AttachOptionsCustomizer seven() {
            return options -> options.withDeadline(Duration.ofSeconds(7)).withReattach(false);
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnLite {
        @Bean
        FakeLite ownLite() {
            return new FakeLite(AttachOptions.to(Path.of("/tmp/own.sock"), "own"));
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnMemory {
        static final LtMemory MEMORY = new FakeLite(AttachOptions.to(Path.of("/tmp/own.sock"), "own")).memory();

        @Bean
        LtMemory ownMemory() {
            return MEMORY;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnDetails {
        @Bean
        LiteConnectionDetails ownDetails() {
            return () -> Path.of("/tmp/own.sock");
        }
    }
}
