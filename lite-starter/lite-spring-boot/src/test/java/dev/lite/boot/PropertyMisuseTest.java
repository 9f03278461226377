package dev.lite.boot;

import dev.lite.boot.resilience.LiteResilienceAutoConfiguration;
import dev.lite.testing.Misuses;
import java.io.IOException;
import java.net.URL;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Generates bad values of the starter's properties from its metadata, and checks that the start fails with a description that names the
 * property, the value and what is allowed, and without a stack trace.
 */
@Isolated("its starts set up the logging of its process")
class PropertyMisuseTest {
    private static final String METADATA = "META-INF/spring-configuration-metadata.json";

    private final Misuses misuses = new Misuses("the properties lite.client");

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
        TreeMap<String, String> types = new TreeMap<>();
        for (URL metadata : Collections.list(getClass().getClassLoader().getResources(METADATA))) {
            for (JsonNode property : JsonMapper.builder()
                    .build()
                    .readTree(metadata.openStream().readAllBytes())
                    .path("properties")) {
                String name = property.path("name").asString();
                if (name.startsWith("lite.client.")) {
                    types.put(name, property.path("type").asString());
                }
            }
        }
        types.forEach((name, type) -> bad(name, type).forEach(value -> misuse(name, type, value)));
        misuses.finish(60);
    }

    private static List<String> bad(String name, String type) {
        List<String> bad = new ArrayList<>();
        switch (type) {
            case "java.lang.Boolean" -> bad.addAll(List.of("maybe", "2", "tru"));
            case "java.lang.Integer" -> bad.addAll(List.of("x", "0", "-1", "99999999999", "1.5"));
            case "java.lang.Float" -> bad.addAll(List.of("x", "0", "-1", "101", "NaN"));
            case "java.time.Duration" -> {
                bad.addAll(List.of("x", "-1s", "10 parsecs", "99999999999999999999s"));
                boolean mayBeZero = name.endsWith(".start-deadline") || name.endsWith(".timeout-duration");
                if (!mayBeZero) {
                    bad.add("0s");
                }
            }
            case "java.nio.file.Path" -> bad.add("/" + "x".repeat(106));
            case "java.util.List<java.nio.file.Path>" -> bad.add("/" + "x".repeat(106));
            default -> {} // any text
        }
        return bad;
    }

    private void misuse(String name, String type, String value) {
        FailureAnalysis unused = AnalysisRecorder.take();
        String problem;
        try {
            new SpringApplicationBuilder(Application.class)
                    .web(WebApplicationType.NONE)
                    .run(
                            "--spring.main.banner-mode=off",
                            "--lite.client.lazy-attach=true",
                            "--lite.client.socket=/nonexistent/node.sock",
                            "--%s=%s".formatted(name, value))
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
        String shown = value.replaceAll("\\D", "").isEmpty() ? value : value.replaceAll("\\D+$", "");
        if (!text.contains(value) && !text.contains(shown.toUpperCase(Locale.ROOT))) {
            return "the value is missing: " + text;
        }
        return text.contains("\tat ") ? "it has a stack trace: " + text : null;
    }
}
