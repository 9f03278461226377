package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@Isolated("it captures the output of its process")
@ExtendWith(OutputCaptureExtension.class)
class LitePropertiesAutoConfigurationTests {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LitePropertiesAutoConfiguration.class));

    @Test
    void aMisspeltNameIsLoggedWithTheNearestKnownOne(CapturedOutput output) {
        runner.withPropertyValues("lite.client.sokcet=/tmp/n.sock", "lite.client.deadline=3s")
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(output)
                .containsOnlyOnce(
                        "there is no property lite.client.sokcet; the nearest known one is lite.client.socket");
        assertThat(output).doesNotContain("no property lite.client.deadline");
    }

    @Test
    void rightNamesAreNotLogged(CapturedOutput output) {
        runner.withPropertyValues("lite.client.socket=/tmp/n.sock", "lite.client.resilience.retry.enabled=true")
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(output).doesNotContain("there is no property");
    }

    @Test
    void aSwitchThatIsNeitherTrueNorFalseEndsTheStart() {
        for (String property : new String[] {"lite.client.enabled", "lite.embedded.enabled"}) {
            for (String value : new String[] {"maybe", "yes", "1"}) {
                runner.withPropertyValues(property + "=" + value)
                        .run(context -> assertThat(context)
                                .getFailure()
                                .isInstanceOf(InvalidConfigurationPropertyValueException.class)
                                .hasMessageContaining(property)
                                .hasMessageContaining(value)
                                .hasMessageContaining("true or false"));
            }
            for (String value : new String[] {"true", "false", "TRUE"}) {
                runner.withPropertyValues(property + "=" + value)
                        .run(context -> assertThat(context).hasNotFailed());
            }
        }
    }
}
