package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The pages that tell people to set values name values that exist, and objects that the chart makes. */
class ChartDocsTest {
    private static final Pattern DOTTED = Pattern.compile("(?<![\\w./-])([a-z]+(?:\\.[a-zA-Z]+)+)(?=[=`'\\s,:)]|$)");
    private static final Pattern OBJECT = Pattern.compile("\\b(daemonset|deployment|deploy)/([a-z-]+)");

    @ParameterizedTest
    @ValueSource(
            strings = {
                "docs/operating/kubernetes.md",
                "docs/operating/qos.md",
                "docs/operating/rdma.md",
                "helm/lite/README.md",
                "helm/lite/templates/_notes.tpl",
                "helm/lite/templates/_helpers.tpl"
            })
    void everyValueExists(String page) {
        Set<String> values =
                ChartReadme.values().stream().map(ChartReadme.Value::name).collect(Collectors.toSet());
        Set<String> groups = Chart.yaml(Chart.DIRECTORY.resolve("values.yaml")).keySet();
        Set<String> named = new TreeSet<>();
        String text = Text.of(Chart.ROOT.resolve(page)).replaceAll("\\.Values\\.\\S+|\"lite\\.[a-zA-Z]+\"", "");
        DOTTED.matcher(text)
                .results()
                .map(MatchResult::group)
                // Keys of a Secret.
                .filter(name -> !Set.of("tls.crt", "tls.key").contains(name))
                .filter(name -> groups.contains(name.replaceFirst("\\..*", "")))
                .forEach(named::add);
        if (page.contains("kubernetes.md")) {
            assertThat(named).hasSizeGreaterThan(10);
        }
        assertThat(named)
                .allSatisfy(name -> assertThat(values)
                        .as("%s names %s", page, name)
                        .anyMatch(value -> value.equals(name) || value.startsWith(name + ".")));
    }

    @ParameterizedTest
    @ValueSource(strings = "docs/operating/kubernetes.md")
    void everyObjectOfACommandIsInTheRelease(String page) {
        Set<String> objects = ValueSets.objects("plain").stream()
                .map(object -> object.toString().toLowerCase(java.util.Locale.ROOT))
                .collect(Collectors.toSet());
        Set<String> named = OBJECT.matcher(Text.of(Chart.ROOT.resolve(page)))
                .results()
                .map(found -> found.group(1).replaceFirst("deploy$", "deployment") + " " + found.group(2))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(named).isNotEmpty().isSubsetOf(objects);
    }
}
