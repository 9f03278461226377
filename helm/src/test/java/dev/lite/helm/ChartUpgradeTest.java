package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;

/**
 * An upgrade keeps what Kubernetes does not let anybody change. A list of it is in the repository, so that a change of it is seen,
 * also without any history; a new object adds lines, a change of a line breaks the upgrade of every release.
 */
class ChartUpgradeTest {
    private static final Path IMMUTABLE = Chart.ROOT.resolve("helm/src/test/resources/immutable.txt");
    /** What may change in a StatefulSet. */
    private static final Set<String> MUTABLE = Set.of(
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds");

    private static final JsonMapper JSON = JsonMapper.builder().build();

    @Test
    void immutableFieldsAreThoseOfTheList() throws IOException {
        StringBuilder list = new StringBuilder();
        for (String valueSet : Chart.VALUE_SETS) {
            immutable(ValueSets.objects(valueSet))
                    .forEach((field, value) -> list.append(valueSet + ": " + field + " = " + value + "\n"));
        }
        if (Boolean.getBoolean("lite.helm.write")) {
            Files.writeString(IMMUTABLE, list.toString());
        }
        assertThat(list.toString())
                .as("Kubernetes refuses a change of these fields: helm upgrade would fail for every user")
                .isEqualTo(Text.of(IMMUTABLE));
    }

    @ParameterizedTest
    @ValueSource(strings = {"HEAD", "HEAD~1"})
    void aReleaseOfTheCommitBeforeCanBeUpgraded(String commit, @TempDir Path before)
            throws IOException, InterruptedException {
        Process archive = new ProcessBuilder(
                        "sh",
                        "-c",
                        "git -C \"$0\" archive \"$1\" helm/lite | tar -x -C \"$2\"",
                        Chart.ROOT.toString(),
                        commit,
                        before.toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(archive.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        archive.waitFor();
        Path chart = before.resolve("helm/lite");
        assumeTrue(Files.isDirectory(chart), () -> commit + " has no chart, or there is no history: " + said.strip());
        for (String valueSet : List.of("plain", "bundled")) {
            Map<String, String> former =
                    immutable(KubernetesObject.parse(Chart.text(chart, "lite", Chart.file(valueSet), Map.of())));
            assertThat(immutable(ValueSets.objects(valueSet))).as(valueSet).containsAllEntriesOf(former);
        }
    }

    @Test
    void immutableFieldsDoNotDependOnTheVersion() {
        String list = Text.of(IMMUTABLE);
        assertThat(list)
                .doesNotContain(System.getProperty("lite.helm.version"))
                .contains("DaemonSet lite-node spec.selector");
    }

    private static Map<String, String> immutable(List<KubernetesObject> objects) {
        Map<String, String> fields = new TreeMap<>();
        for (KubernetesObject object : objects) {
            Set<String> names = switch (object.kind()) {
                case "DaemonSet", "Deployment" -> Set.of("selector");
                case "StatefulSet" -> {
                    Set<String> all = new TreeSet<>(object.map("spec").keySet());
                    all.removeAll(MUTABLE);
                    yield all;
                }
                case "Service" -> Set.of("clusterIP");
                default -> Set.of();
            };
            for (String name : names) {
                Object value = object.map("spec").get(name);
                fields.put(object + " spec." + name, JSON.writeValueAsString(value == null ? "" : value));
            }
        }
        return fields;
    }
}
