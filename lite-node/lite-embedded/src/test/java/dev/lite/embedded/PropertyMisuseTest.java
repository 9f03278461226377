package dev.lite.embedded;

import dev.lite.boot.LitePropertiesAutoConfiguration;
import dev.lite.testing.Misuses;
import java.io.IOException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.json.JsonParserFactory;
import org.springframework.context.annotation.Configuration;

/**
 * Generates bad values of the properties lite.embedded, from their metadata, and checks that the start fails with a description that names the
 * property, the value and what is allowed, and without a stack trace.
 */
@Isolated("its starts set up the logging of its process")
class PropertyMisuseTest {
    private static final String METADATA = "META-INF/spring-configuration-metadata.json";

    private final Misuses misuses = new Misuses("the properties lite.embedded");

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        ConfigurationPropertiesAutoConfiguration.class,
        LiteEmbeddedAutoConfiguration.class,
        LitePropertiesAutoConfiguration.class
    })
    static class Application {}

    @Test
    void everyBadValueFailsTheStartWithTheNameOfItsProperty() throws IOException {
        TreeMap<String, String> types = new TreeMap<>();
        for (URL metadata : Collections.list(getClass().getClassLoader().getResources(METADATA))) {
            Object properties = JsonParserFactory.getJsonParser()
                    .parseMap(new String(metadata.openStream().readAllBytes(), StandardCharsets.UTF_8))
                    .get("properties");
            for (Object each : (List<?>) Objects.requireNonNull(properties)) {
                Map<?, ?> property = (Map<?, ?>) each;
                String name = String.valueOf(property.get("name"));
                if (name.startsWith("lite.embedded.")) {
                    types.put(name, String.valueOf(property.get("type")));
                }
            }
        }
        types.forEach((name, type) -> bad(name, type).forEach(value -> misuse(name, type, value)));
        misuses.finish(25);
    }

    private static List<String> bad(String name, String type) {
        List<String> bad = new ArrayList<>();
        switch (type) {
            case "java.lang.Boolean" -> bad.addAll(List.of("maybe", "2"));
            case "java.lang.Integer" -> {
                bad.addAll(List.of("x", "-1", "99999999999", "1.5"));
                if (!mayBeZero(name)) {
                    bad.add("0");
                }
            }
            case "java.lang.Long" -> bad.addAll(List.of("x", "-1", "0", "99999999999", "1.5"));
            case "java.time.Duration" -> {
                bad.addAll(List.of("x", "-1s", "10 parsecs", "99999999999999999999s", "9000000000000000000s"));
                if (!mayBeZero(name)) {
                    bad.add("0s");
                }
            }
            case "org.springframework.util.unit.DataSize" ->
                bad.addAll(List.of("x", "-1B", "0B", "10 stones", "9999999999999999999999GB"));
            default -> bad.addAll(badTexts(name));
        }
        return bad;
    }

    private static boolean mayBeZero(String name) {
        return Set.of("none").contains(name.substring(name.lastIndexOf('.') + 1));
    }

    /** Other texts are free, or need the host to check them. */
    private static List<String> badTexts(String name) {
        return switch (name) {
            case "lite.embedded.name", "lite.embedded.cluster" -> List.of("a b", "a/b", "..", "x".repeat(64));
            case "lite.embedded.zookeeper" -> List.of(" ");
            case "lite.embedded.fabric", "lite.embedded.require" -> List.of("pigeon", "SHM");
            case "lite.embedded.secret" -> List.of("short");
            case "lite.embedded.auth.user" -> List.of("a:b");
            default -> List.of();
        };
    }

    private void misuse(String name, String type, String value) {
        FailureAnalysis unused = AnalysisRecorder.take();
        String problem;
        try {
            new SpringApplicationBuilder(Application.class)
                    .web(WebApplicationType.NONE)
                    .run("--spring.main.banner-mode=off", "--%s=%s".formatted(name, value))
                    .close();
            problem = "it was accepted";
        } catch (RuntimeException e) {
            problem = problem(name, value, e);
        }
        misuses.add(type, name + "=" + value, problem);
    }

    private @Nullable String problem(String name, String value, RuntimeException failure) {
        FailureAnalysis analysis = AnalysisRecorder.take();
        if (analysis == null) {
            return "there is no description of %s".formatted(failure);
        }
        if (analysis.getAction() == null || analysis.getAction().isBlank()) {
            return "there is no action for: " + analysis.getDescription();
        }
        String text = analysis.getDescription();
        if (!text.contains(name)) {
            return "the property is missing: " + text;
        }
        if (name.endsWith("secret") || name.endsWith("token")) {
            return text.contains(value) ? "it has the secret: " + text : null;
        }
        String shown = value.replaceAll("\\D", "").isEmpty() ? value : value.replaceAll("\\D+$", "");
        if (!text.contains(value) && !text.contains(shown.toUpperCase(Locale.ROOT))) {
            return "the value is missing: " + text;
        }
        return text.contains("\tat ") ? "it has a stack trace: " + text : null;
    }
}
