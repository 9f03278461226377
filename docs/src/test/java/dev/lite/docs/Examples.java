package dev.lite.docs;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import dev.lite.api.Lite;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;

/** What the contexts of the examples use, in src/test/contexts. */
public final class Examples {
    private Examples() {}

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}

    /**
     * Starts an application with the starter's beans.
     *
     * @param lite its session, which the application closes
     * @param beans its own beans or configurations
     */
    public static ConfigurableApplicationContext start(Lite lite, Class<?>... beans) {
        return new SpringApplicationBuilder(Application.class)
                .sources(beans)
                .web(WebApplicationType.NONE)
                .properties("spring.main.banner-mode=off", "logging.level.root=warn")
                .initializers(
                        context -> ((GenericApplicationContext) context).registerBean("lite", Lite.class, () -> lite))
                .run();
    }

    /** Fails if two values differ. */
    public static void check(@Nullable Object actual, @Nullable Object expected) {
        if (!Objects.equals(actual, expected)) {
            throw new AssertionError("it is %s, not %s".formatted(actual, expected));
        }
    }

    /** Runs a test class; fails if it has no test or one fails. */
    public static void runTest(Class<?> test) {
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selectClass(test))
                                .build(),
                        listener);
        TestExecutionSummary summary = listener.getSummary();
        StringWriter failures = new StringWriter();
        summary.printFailuresTo(new PrintWriter(failures));
        if (summary.getTestsSucceededCount() == 0 || summary.getTotalFailureCount() > 0) {
            throw new AssertionError("%s: %d tests succeeded, %d failed%n%s"
                    .formatted(
                            test.getName(),
                            summary.getTestsSucceededCount(),
                            summary.getTotalFailureCount(),
                            failures));
        }
    }
}
