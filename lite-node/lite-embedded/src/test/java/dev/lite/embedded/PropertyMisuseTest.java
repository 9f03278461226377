package dev.lite.embedded;

import dev.lite.boot.LitePropertiesAutoConfiguration;
import dev.lite.testing.boot.PropertyMisuses;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.context.annotation.Configuration;

/** Bad values of the properties lite.embedded. */
@Isolated("its starts set up the logging of its process")
class PropertyMisuseTest {
    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        ConfigurationPropertiesAutoConfiguration.class,
        LiteEmbeddedAutoConfiguration.class,
        LitePropertiesAutoConfiguration.class
    })
    static class Application {}

    @Test
    void everyBadValueFailsTheStartWithTheNameOfItsProperty() throws IOException {
        new PropertyMisuses("the properties lite.embedded", Application.class)
                .check(name -> name.startsWith("lite.embedded."), Set.of(), PropertyMisuseTest::bad, 25);
    }

    /** Other texts are free, or need the host to check them. */
    private static List<String> bad(String name, String type) {
        if (type.equals(Duration.class.getName())) {
            return List.of(PropertyMisuses.LONG_DURATION);
        }
        return switch (name) {
            case "lite.embedded.name", "lite.embedded.cluster" -> List.of("a b", "a/b", "..", "x".repeat(64));
            case "lite.embedded.zookeeper" -> List.of(" ");
            case "lite.embedded.fabric", "lite.embedded.require" -> List.of("pigeon", "SHM");
            case "lite.embedded.secret" -> List.of("short");
            case "lite.embedded.auth.user" -> List.of("a:b");
            default -> List.of();
        };
    }
}
