package dev.lite.boot.lock;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.client.fake.FakeLite;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Methods with {@link LiteLock} in applications without locks. */
@Isolated("it captures the output of its process")
@ExtendWith(OutputCaptureExtension.class)
class MissingLocksTests {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(LiteClientAutoConfiguration.class, LiteLockAutoConfiguration.class))
            .withBean(Stock.class);

    static class Stock {
        @LiteLock("stock/#{#article}")
        String take(String article) {
            return article;
        }
    }

    private static FakeLite session() {
        return new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
    }

    private static void assertMissing(AssertableApplicationContext context, String remedy) {
        assertThat(context)
                .getFailure()
                .hasStackTraceContaining("@LiteLock of ")
                .hasStackTraceContaining(
                        ": there is no LtSync bean, so the method would run without its lock; " + remedy);
    }

    @Test
    void withoutLtSyncALockedMethodFailsTheStart() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LiteLockAutoConfiguration.class))
                .withBean(Stock.class)
                .run(context -> assertMissing(
                        context,
                        "define a session, or set lite.client.enabled=false to run such methods without their locks"));
    }

    /** Then there is no LtSync, as it is not known of which session. */
    @Test
    void withSeveralSessionsAndNoPrimaryOneALockedMethodFailsTheStart() {
        runner.withBean("one", Lite.class, MissingLocksTests::session)
                .withBean("two", Lite.class, MissingLocksTests::session)
                .run(context -> assertMissing(
                        context,
                        "there are several Lite beans (one, two): make one of them primary, or define an LtSync"));
    }

    /** Such as of an embedded node. */
    @Test
    void withASessionThatTheStarterDoesNotUseALockedMethodFailsTheStart() {
        runner.withBean("mine", Lite.class, MissingLocksTests::session)
                .withPropertyValues("lite.client.enabled=false")
                .run(context -> assertMissing(
                        context, "define one from the Lite bean \"mine\", or do not set lite.client.enabled=false"));
    }

    @Test
    void aWarningSaysThatLockedMethodsRunWithoutTheirLocksWhereLiteIsSwitchedOff(CapturedOutput output) {
        runner.withPropertyValues("lite.client.enabled=false")
                .withBean(Object.class)
                .run(context ->
                        assertThat(context.getBean(Stock.class).take("tea")).isEqualTo("tea"));
        assertThat(output)
                .containsOnlyOnce("run without their locks")
                .contains(Stock.class.getName() + " run without their locks, because lite.client.enabled is false");
    }

    /** As {@code @MockitoBean} does. */
    @Test
    void aWarningSaysThatLockedMethodsRunWithoutTheirLocksWhereATestReplacesTheSession(CapturedOutput output) {
        BeanFactoryPostProcessor replacing = beans -> {
            FakeLite lite = session();
            beans.registerSingleton("lite", lite);
            beans.registerSingleton("ltSync", lite.sync());
        };
        runner.withPropertyValues("lite.client.enabled=false")
                .withBean(BeanFactoryPostProcessor.class, () -> replacing)
                .run(context ->
                        assertThat(context.getBean(Stock.class).take("tea")).isEqualTo("tea"));
        assertThat(output)
                .contains("because the LtSync bean was not there when LITE's auto-configuration was processed");
    }

    @Test
    void withoutLtSyncAnApplicationWithoutLockedMethodsStarts() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LiteLockAutoConfiguration.class))
                .withBean(Object.class)
                .run(context -> assertThat(context).hasNotFailed());
    }
}
