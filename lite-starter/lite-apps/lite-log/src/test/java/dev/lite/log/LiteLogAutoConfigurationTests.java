package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.embedded.LiteEmbeddedAutoConfiguration;
import dev.lite.log.boot.LiteLogAutoConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

@Isolated("starts application contexts")
class LiteLogAutoConfigurationTests {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withPropertyValues("lite.embedded.arena-size=32MB")
            .withConfiguration(AutoConfigurations.of(LiteLogAutoConfiguration.class));

    @Test
    void anApplicationWithASessionHasTheBean() {
        runner.withConfiguration(AutoConfigurations.of(LiteEmbeddedAutoConfiguration.class))
                .run(context -> {
                    LiteLog log = context.getBean(LiteLogs.class)
                            .createOrOpen("boot", LogSpec.defaults().withSegmentBytes(64 << 10));
                    assertThat(log.append(LogFixture.bytes("started"))).isNotNegative();
                    assertThat(LogFixture.read(log.reader(log.firstPosition()))).containsExactly("started");
                    context.close();
                    assertThat(log.isClosed()).isTrue();
                });
    }

    @Test
    void anApplicationWithoutASessionHasNone() {
        runner.run(context -> assertThat(context).doesNotHaveBean(Lite.class).doesNotHaveBean(LiteLogs.class));
    }
}
