package dev.lite.helm;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.LintResult;
import com.marcnuri.helm.TemplateCommand;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** The chart, as Helm renders and checks it. Any thread; Helm runs once at a time. */
final class Chart {
    /** The repository. */
    static final Path ROOT =
            Path.of(System.getProperty("lite.helm.root", "..")).toAbsolutePath().normalize();

    /** The chart's directory. */
    static final Path DIRECTORY = ROOT.resolve("helm/lite");

    private static final Path VALUES = ROOT.resolve("helm/src/test/values");

    /** The sets of values that the tests render, by the names of their files. */
    static final List<String> VALUE_SETS =
            List.of("plain", "minimal", "rdma", "hardened", "zookeeper-tls", "bundled", "side-by-side", "everything");

    private Chart() {}

    /** A copy of the chart whose hooks are ordinary objects: the library does not print hooks. */
    private static final class WithHooks {
        static final Path CHART = make();

        private static Path make() {
            try {
                Path copy = copy(Files.createTempDirectory("lite-chart-"));
                Path test = copy.resolve("templates/tests/status.yaml");
                Files.writeString(test, Files.readString(test).replace("helm.sh/hook: test", "was-hook: test"));
                Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(copy.resolveSibling(""))));
                return copy;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static void delete(Path directory) {
            try (Stream<Path> files = Files.walk(directory)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** The objects of a release. */
    static List<KubernetesObject> render(String release, String valueSet) {
        return render(release, file(valueSet), Map.of());
    }

    /**
     * The objects of a release with single values instead of those of the set, named as {@code --set} does.
     *
     * @throws RuntimeException with Helm's message if it refuses the values
     */
    static List<KubernetesObject> render(String release, String valueSet, Map<String, String> single) {
        return render(release, file(valueSet), single);
    }

    private static List<KubernetesObject> render(String release, Path values, Map<String, String> single) {
        return KubernetesObject.parse(text(WithHooks.CHART, release, values, single));
    }

    /** The objects of a release in a namespace. */
    static List<KubernetesObject> render(
            String namespace, String release, String valueSet, Map<String, String> single) {
        return KubernetesObject.parse(text(WithHooks.CHART, namespace, release, file(valueSet), single));
    }

    /** The text that {@code helm template} prints for a chart. */
    static String text(Path chart, String release, Path values, Map<String, String> single) {
        return text(chart, "shop", release, values, single);
    }

    private static String text(Path chart, String namespace, String release, Path values, Map<String, String> single) {
        synchronized (Chart.class) {
            TemplateCommand command = new Helm(chart)
                    .template()
                    .withName(release)
                    .withNamespace(namespace)
                    .withKubeVersion("1.34.0")
                    .withValuesFile(values);
            single.forEach(command::set);
            return command.call();
        }
    }

    /** What {@code helm lint --strict} says of the chart, with a set of values as its defaults. */
    static LintResult lint(String valueSet, Path temporary) {
        Path copy = copyWithValues(file(valueSet), temporary);
        synchronized (Chart.class) {
            return new Helm(copy).lint().strict().call();
        }
    }

    /** The text of NOTES.txt, which {@code helm template} does not print: as the content of an object. */
    static String notes(String release, String valueSet, Path temporary) {
        Path copy = copyWithValues(file(valueSet), temporary);
        try {
            Files.writeString(copy.resolve("templates/notes.yaml"), """
                    apiVersion: v1
                    kind: ConfigMap
                    metadata:
                      name: notes
                    data:
                      notes: |
                        {{- include "lite.notes" . | nindent 4 }}
                    """);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return KubernetesObject.parse(text(copy, release, file(valueSet), Map.of())).stream()
                .filter(object -> object.name().equals("notes"))
                .map(object -> String.valueOf(object.map("data").get("notes")))
                .findFirst()
                .orElseThrow();
    }

    /** The file of a set of values. */
    static Path file(String valueSet) {
        return VALUES.resolve(valueSet + ".yaml");
    }

    private static Path copyWithValues(Path values, Path temporary) {
        Path copy = copy(temporary);
        try {
            Map<String, Object> merged = merge(yaml(DIRECTORY.resolve("values.yaml")), yaml(values));
            Files.writeString(copy.resolve("values.yaml"), new Yaml().dump(merged));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return copy;
    }

    private static Path copy(Path parent) {
        Path copy = parent.resolve("lite");
        try (Stream<Path> files = Files.walk(DIRECTORY)) {
            for (Path file : files.toList()) {
                Path target = copy.resolve(DIRECTORY.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(target);
                } else {
                    Files.copy(file, target);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return copy;
    }

    /** A YAML file that is a map. */
    static Map<String, Object> yaml(Path file) {
        try {
            return KubernetesObject.asMap(
                    new Yaml(new SafeConstructor(new LoaderOptions())).load(Files.readString(file)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Map<String, Object> merge(Map<String, Object> below, Map<String, Object> above) {
        Map<String, Object> merged = new LinkedHashMap<>(below);
        above.forEach((key, value) -> merged.merge(
                key,
                value,
                (one, other) -> one instanceof Map && other instanceof Map
                        ? merge(KubernetesObject.asMap(one), KubernetesObject.asMap(other))
                        : other));
        return merged;
    }
}
