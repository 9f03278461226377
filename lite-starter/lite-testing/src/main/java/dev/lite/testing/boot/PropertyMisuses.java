package dev.lite.testing.boot;

import dev.lite.testing.Misuses;
import java.io.IOException;
import java.io.InputStream;
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
import java.util.function.BiFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.json.JsonParserFactory;

/**
 * Generates bad values of properties from their metadata, and checks that each fails the start with a description that names
 * the property, the value and what is allowed, and without a stack trace. One thread.
 */
public final class PropertyMisuses {
    private static final String METADATA = "META-INF/spring-configuration-metadata.json";
    /** A path that is longer than that of a Unix socket may be. */
    public static final String LONG_PATH = "/" + "x".repeat(106);

    /** A duration of more nanoseconds than a long can have. */
    public static final String LONG_DURATION = "9000000000000000000s";

    private final Class<?> application;
    private final List<String> arguments;
    private final Misuses misuses;

    /**
     * Starts an application once for each bad value.
     *
     * @param whose whose properties they are, for the report
     * @param application the configuration of the application
     * @param arguments of each start
     */
    public PropertyMisuses(String whose, Class<?> application, String... arguments) {
        this.application = application;
        this.arguments = List.of(arguments);
        misuses = new Misuses(whose);
    }

    /**
     * Checks all properties whose names are wanted.
     *
     * @param mayBeZero the last parts of the names of numbers and durations for which 0 is not bad
     * @param more bad values for a name and a type: what else this application refuses without a look at the host
     * @param leastCount of misuses
     */
    public void check(
            Predicate<String> wanted,
            Set<String> mayBeZero,
            BiFunction<String, String, List<String>> more,
            int leastCount)
            throws IOException {
        types(wanted).forEach((name, type) -> {
            boolean zero = mayBeZero.contains(name.substring(name.lastIndexOf('.') + 1));
            List<String> bad = new ArrayList<>(badOfType(type, zero));
            bad.addAll(more.apply(name, type));
            bad.forEach(value -> misuses.add(type, name + "=" + value, problem(name, value)));
        });
        misuses.finish(leastCount);
    }

    private Map<String, String> types(Predicate<String> wanted) throws IOException {
        Map<String, String> types = new TreeMap<>();
        for (URL metadata : Collections.list(application.getClassLoader().getResources(METADATA))) {
            try (InputStream in = metadata.openStream()) {
                String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
                Object properties =
                        JsonParserFactory.getJsonParser().parseMap(text).get("properties");
                for (Object each : (List<?>) Objects.requireNonNull(properties)) {
                    Map<?, ?> property = (Map<?, ?>) each;
                    String name = String.valueOf(property.get("name"));
                    if (wanted.test(name)) {
                        types.put(name, String.valueOf(property.get("type")));
                    }
                }
            }
        }
        return types;
    }

    private static List<String> badOfType(String type, boolean mayBeZero) {
        List<String> bad = new ArrayList<>();
        switch (type) {
            case "java.lang.Boolean" -> bad.addAll(List.of("maybe", "2", "tru"));
            case "java.lang.Integer", "java.lang.Long" -> {
                bad.addAll(List.of("x", "-1", "99999999999", "1.5"));
                if (!mayBeZero) {
                    bad.add("0");
                }
            }
            case "java.lang.Float" -> bad.addAll(List.of("x", "0", "-1", "101", "NaN"));
            case "java.time.Duration" -> {
                bad.addAll(List.of("x", "-1s", "10 parsecs", "99999999999999999999s"));
                if (!mayBeZero) {
                    bad.add("0s");
                }
            }
            case "org.springframework.util.unit.DataSize" ->
                bad.addAll(List.of("x", "-1B", "0B", "10 stones", "9999999999999999999999GB"));
            default -> {} // the test knows
        }
        return bad;
    }

    /** What is wrong with the answer to a bad value; null: nothing. */
    private @Nullable String problem(String name, String value) {
        FailureAnalysis unused = AnalysisRecorder.take(); // of a former start
        List<String> all = new ArrayList<>(arguments);
        all.add("--spring.main.banner-mode=off");
        all.add("--%s=%s".formatted(name, value));
        try {
            new SpringApplicationBuilder(application)
                    .web(WebApplicationType.NONE)
                    .run(all.toArray(String[]::new))
                    .close();
            return "it was accepted";
        } catch (RuntimeException e) {
            FailureAnalysis analysis = AnalysisRecorder.take();
            return analysis == null ? "there is no description of %s".formatted(e) : problem(name, value, analysis);
        }
    }

    private static @Nullable String problem(String name, String value, FailureAnalysis analysis) {
        String text = analysis.getDescription();
        if (analysis.getAction() == null || analysis.getAction().isBlank()) {
            return "there is no action for: " + text;
        }
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
