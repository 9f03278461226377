package dev.lite.boot;

import dev.lite.boot.resilience.LiteResilienceAutoConfiguration;
import dev.lite.testing.boot.PropertyMisuses;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.context.annotation.Configuration;

/** Bad values of the starter's properties. */
@Isolated("its starts set up the logging of its process")
class PropertyMisuseTest {
    private static final Set<String> PATHS = Set.of("lite.client.socket", "lite.client.alternative-sockets");

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        ConfigurationPropertiesAutoConfiguration.class,
        LiteClientAutoConfiguration.class,
        LitePropertiesAutoConfiguration.class,
        LiteResilienceAutoConfiguration.class
    })
    static class Application {}

    @Test
    void everyBadValueFailsTheStartWithTheNameOfItsProperty() throws IOException {
        new PropertyMisuses(
                        "the properties lite.client",
                        Application.class,
                        "--lite.client.lazy-attach=true",
                        "--lite.client.socket=/nonexistent/node.sock")
                .check(
                        name -> name.startsWith("lite.client."),
                        Set.of("start-deadline", "timeout-duration"),
                        (name, type) -> PATHS.contains(name) ? List.of(PropertyMisuses.LONG_PATH) : List.of(),
                        60);
    }
}
