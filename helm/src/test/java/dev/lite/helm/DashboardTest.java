package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yaml.snakeyaml.Yaml;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The dashboard for Grafana: its queries are correct and have data of running processes. */
class DashboardTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    @TempDir
    Path directory;

    private static JsonNode dashboard() {
        KubernetesObject map = ValueSets.object(ValueSets.objects("everything"), "ConfigMap", "-dashboard");
        assertThat(map.map("metadata", "labels")).containsEntry("grafana_dashboard", "1");
        return JSON.readTree(String.valueOf(map.map("data").get("lite.json")));
    }

    /** The queries, with Grafana's variables replaced. */
    private static List<String> queries() {
        List<String> queries = new ArrayList<>();
        for (JsonNode panel : dashboard().path("panels")) {
            assertThat(panel.path("title").asString()).isNotBlank();
            for (JsonNode target : panel.path("targets")) {
                String query = target.path("expr").asString();
                assertThat(query).contains("lite_cluster=\"$cluster\"");
                queries.add(query.replace("$cluster", "shop.lite").replace("$__rate_interval", "5m"));
            }
        }
        return queries;
    }

    @Test
    void everyQueryHasMetricsOfARunningNodeOrManager() {
        Set<String> shown = new HashSet<>();
        for (String query : queries()) {
            Set<String> metrics = AlertsTest.metricsOf(query);
            assertThat(metrics).as(query).isNotEmpty();
            assertThat(ScrapedMetrics.names()).as(query).containsAll(metrics);
            shown.addAll(metrics);
        }
        assertThat(shown)
                .as("the dashboard has every metric of LITE")
                .containsAll(ScrapedMetrics.names().stream()
                        .filter(name -> name.startsWith("lite_"))
                        .toList());
    }

    @Test
    void panelsDoNotOverlap() {
        Set<String> places = new HashSet<>();
        for (JsonNode panel : dashboard().path("panels")) {
            JsonNode place = panel.path("gridPos");
            assertThat(places.add(place.path("x") + "," + place.path("y"))).isTrue();
            assertThat(place.path("x").asInt() + place.path("w").asInt()).isLessThanOrEqualTo(24);
        }
        assertThat(places).hasSizeGreaterThan(20);
    }

    @Test
    void everyQueryHasDataInPrometheus() throws IOException, InterruptedException {
        List<Object> rules = new ArrayList<>();
        List<String> queries = queries();
        for (int index = 0; index < queries.size(); index++) {
            rules.add(Map.of("record", "panel:" + index, "expr", queries.get(index)));
        }
        Files.writeString(
                directory.resolve("rules.yaml"),
                new Yaml().dump(Map.of("groups", List.of(Map.of("name", "panels", "rules", rules)))));
        List<Object> input = ScrapedMetrics.samples().stream()
                .filter(sample -> !Double.isNaN(sample.value()))
                .map(sample -> (Object) Map.of("series", sample.series(), "values", sample.value() + "+0x20"))
                .toList();
        Files.writeString(
                directory.resolve("tests.yaml"),
                new Yaml()
                        .dump(Map.of(
                                "rule_files",
                                List.of("rules.yaml"),
                                "tests",
                                List.of(Map.of(
                                        "interval",
                                        "1m",
                                        "input_series",
                                        input,
                                        "promql_expr_test",
                                        List.of(Map.of(
                                                "expr", "count(count by (__name__) ({__name__=~\"panel:.*\"}))",
                                                "eval_time", "15m",
                                                "exp_samples",
                                                        List.of(Map.of("labels", "{}", "value", queries.size())))))))));
        Promtool.Output output = Promtool.run(directory, "test", "rules", "tests.yaml");
        assertThat(output.status()).as(output.text()).isZero();
    }
}
