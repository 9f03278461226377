package dev.lite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.cluster.process.StartException;
import dev.lite.process.NameCheck;
import dev.lite.testing.Misuses;
import java.io.IOException;
import java.net.URL;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Generates bad values of the properties of the node, from their metadata, and checks that the start fails with a description that names the
 * property, the value and what is allowed, and without a stack trace.
 */
@Isolated("its starts set up the logging of its process")
class PropertyMisuseTest {
    private static final String METADATA = "META-INF/spring-configuration-metadata.json";

    private final Misuses misuses = new Misuses("the properties of the node");

    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties({ClusterProperties.class, NodeProperties.class, ProcessProperties.class})
    @Import({NameCheck.class, NodeConfiguration.class, ProcessLifecycle.class})
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
                // The manager is on the class path of the tests, too.
                if (name.startsWith("lite.") && !name.startsWith("lite.manager.")) {
                    types.put(name, property.path("type").asString());
                }
            }
        }
        types.forEach((name, type) -> bad(name, type).forEach(value -> misuse(name, type, value)));
        misuses.finish(120);
    }

    @Test
    void aMisspeltNameFailsTheStartWithTheNearestKnownOne() {
        assertThat(refusal("--lite.node.arena.sice=1"))
                .isEqualTo("there is no property lite.node.arena.sice; the nearest known one is lite.node.arena.size");
        assertThat(refusal("--lite.nod.name=1"))
                .isEqualTo("there is no property lite.nod.name; the nearest known one is lite.node.name");
    }

    private static @Nullable String refusal(String argument) {
        FailureAnalysis unused = AnalysisRecorder.take();
        assertThatThrownBy(() -> LiteNodeApplication.main(new String[] {"--server.port=0", argument}))
                .isInstanceOf(StartException.class);
        FailureAnalysis analysis = AnalysisRecorder.take();
        return analysis == null ? null : analysis.getDescription();
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
        return Set.of("port", "extents", "handles", "channels-max", "poll", "session", "drain-timeout", "return-grace")
                .contains(name.substring(name.lastIndexOf('.') + 1));
    }

    /** Other texts are free, or need the host to check them. */
    private static List<String> badTexts(String name) {
        String longPath = "/" + "x".repeat(106);
        return switch (name) {
            case "lite.cluster.name" -> List.of("a b", "a/b", "..", "x".repeat(64));
            case "lite.cluster.zookeeper" -> List.of(" ", "localhost:abc", "localhost:2181/a//b");
            case "lite.cluster.auth.user" -> List.of("a:b");
            case "lite.node.name" -> List.of("a b", "a/b", ".", "x".repeat(64));
            case "lite.node.socket-mode" -> List.of("rw", "888", "7777", "-1");
            case "lite.node.management-url" -> List.of("x", "ftp://a/b", "http:");
            case "lite.node.fabrics" -> List.of("pigeon", "shm,pigeon");
            case "lite.fabric", "lite.fabric.require" -> List.of("pigeon", "SHM");
            case "lite.node.run-directory", "lite.node.socket" -> List.of(longPath);
            case "lite.node.tcp.bind" -> List.of(" ");
            case "lite.node.tcp.protection" -> List.of("strong", "NONE");
            case "lite.cluster.secret", "lite.node.tcp.secret", "lite.node.rdma.secret", "lite.node.management.token" ->
                List.of("short");
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
