package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.helm.ScrapedMetrics.Sample;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.yaml.snakeyaml.Yaml;

/** The alerts: one for each line of the documentation, on metrics that exist, firing when they should. */
class AlertsTest {
    private static final Pattern METRIC = Pattern.compile("\\b(?:lite|jvm|process|system)_[a-z_]+\\b(?!=|\")");
    private static final Pattern DOCUMENTED = Pattern.compile("`([a-z.]+)`");

    /** A node divides its limits: one principal gets at most half of the default of 256, and of a handle for each KB of the heap. */
    private static final int ONE_PRINCIPALS_SESSIONS = 128;

    private static final int ONE_PRINCIPALS_HANDLES = 256 * 1024 / 2;

    /** What makes an alert fire: beginnings of series → their values, every minute for two hours. */
    private static final Map<String, Map<String, String>> FIRING = new LinkedHashMap<>();

    static {
        FIRING.put("LiteArenaNearlyFull", Map.of("lite_node_arena_bytes{state=\"free\"", "1+0x120"));
        FIRING.put("LiteNodesDisconnected", Map.of("lite_node_links{fabric=\"none\"", "1+0x120"));
        FIRING.put("LiteNodeWithoutDirectory", Map.of("lite_node_directory_available{", "0+0x120"));
        FIRING.put("LiteReclaimsGrow", Map.of("lite_node_reclaims{", "1+1x120"));
        FIRING.put("LiteConnectionsBreak", Map.of("lite_node_transfers_repeated_total{", "0+2x120"));
        FIRING.put("LiteSessionsNearLimit", Map.of("lite_node_sessions{", ONE_PRINCIPALS_SESSIONS + "+0x120"));
        FIRING.put("LiteHandlesNearLimit", Map.of("lite_node_handles{", ONE_PRINCIPALS_HANDLES + "+0x120"));
        FIRING.put("LiteMappedLmrsNearLimit", Map.of("lite_node_lmrs_mapped{", ONE_PRINCIPALS_HANDLES + "+0x120"));
        FIRING.put("LiteExtentsNearLimit", Map.of("lite_node_arena_extents{", "3500+0x120"));
        FIRING.put("LiteCallMemoryHigh", Map.of("lite_node_rpc_memory_bytes{", "5000000+0x120"));
        FIRING.put("LiteCallsQueue", Map.of("lite_node_rpc_queued{", "1+1x120"));
        FIRING.put("LiteNoSingleLeader", Map.of("lite_manager_leads{", "0+0x120"));
        FIRING.put("LiteManagerWithoutDirectory", Map.of("lite_manager_directory_available{", "0+0x120"));
        FIRING.put("LiteNodesMissing", Map.of("lite_manager_nodes{", "2+0x80 1+0x40"));
        FIRING.put("LiteRemovalsPending", Map.of("lite_manager_removals_pending{", "1+0x120"));
        FIRING.put("LiteOrdersOpen", Map.of("lite_manager_orders_open{", "1+0x120"));
    }

    private static final String NO_SAMPLES = "_x120";

    @TempDir
    Path directory;

    private static List<Map<String, Object>> rules() {
        KubernetesObject rule = ValueSets.object(Chart.render("lite", "side-by-side"), "PrometheusRule", "lite");
        List<Map<String, Object>> rules = new ArrayList<>();
        KubernetesObject.list(rule.map("spec"), "groups")
                .forEach(group -> rules.addAll(KubernetesObject.list(group, "rules")));
        return rules;
    }

    private static Set<String> metrics(String expression) {
        return METRIC.matcher(expression.replaceAll("\\{[^}]*}", ""))
                .results()
                .map(MatchResult::group)
                .collect(Collectors.toSet());
    }

    @Test
    void everyLineOfTheDocumentationHasAnAlert() {
        Set<String> documented = new TreeSet<>();
        documented.addAll(documentedMetrics("docs/operating/monitoring.md", "lite.node"));
        documented.addAll(documentedMetrics("docs/operating/manager.md", "lite.manager"));
        assertThat(documented).hasSize(16).contains("lite.node.handles", "lite.manager.orders.open");
        String expressions =
                rules().stream().map(rule -> String.valueOf(rule.get("expr"))).collect(Collectors.joining("\n"));
        for (String metric : documented) {
            assertThat(expressions).as(metric).containsPattern(metric.replace('.', '_') + "[_a-z]*\\{");
        }
        assertThat(rules()).hasSameSizeAs(documented);
    }

    @Test
    void everyAlertHasALineThatSaysWhatToDo() {
        String page = Text.of(Chart.ROOT.resolve("docs/operating/kubernetes.md"));
        Set<String> documented = Pattern.compile("`(Lite[A-Za-z]+)`")
                .matcher(page.substring(page.indexOf("## Alerts"), page.indexOf("## What can be watched")))
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(rules()).extracting(rule -> rule.get("alert")).containsExactlyInAnyOrderElementsOf(documented);
    }

    /** The metrics of the lines that say when to alert. */
    private static Set<String> documentedMetrics(String page, String prefix) {
        Set<String> metrics = new TreeSet<>();
        for (String line : Text.of(Chart.ROOT.resolve(page)).lines().toList()) {
            String[] cells = line.split("\\|", -1);
            if (line.startsWith("| `" + prefix + ".") && !cells[cells.length - 2].contains("for information")) {
                Matcher name = DOCUMENTED.matcher(cells[1]);
                while (name.find()) {
                    metrics.add(name.group(1).startsWith(".") ? prefix + name.group(1) : name.group(1));
                }
            }
        }
        return metrics;
    }

    @Test
    void everyMetricOfAnAlertIsOneOfARunningNodeOrManager() {
        for (Map<String, Object> rule : rules()) {
            Set<String> metrics = metrics(String.valueOf(rule.get("expr")));
            assertThat(metrics).as(rule.toString()).isNotEmpty();
            assertThat(ScrapedMetrics.names()).as(rule.toString()).containsAll(metrics);
        }
    }

    @Test
    void everyAlertSaysHowSevereItIsAndWhatHappened() {
        for (Map<String, Object> rule : rules()) {
            assertThat(KubernetesObject.map(rule, "labels").get("severity")).isIn("warning", "critical");
            assertThat(KubernetesObject.map(rule, "annotations")).containsOnlyKeys("summary", "description");
            assertThat(String.valueOf(rule.get("expr")))
                    .contains("lite_cluster=\"shop.lite\"")
                    .doesNotContain("_MAX");
        }
    }

    @Test
    void prometheusAcceptsTheRules() throws IOException, InterruptedException {
        writeRules();
        Promtool.Output output = Promtool.run(directory, "check", "rules", "rules.yaml");
        assertThat(output.status()).as(output.text()).isZero();
        assertThat(output.text()).contains("16 rules found");
    }

    @Test
    void noAlertFiresForAHealthyClusterAndEachOneDoesForItsCause() throws IOException, InterruptedException {
        assertThat(FIRING.keySet())
                .containsExactlyInAnyOrderElementsOf(rules().stream()
                        .map(rule -> String.valueOf(rule.get("alert")))
                        .toList());
        writeRules();
        List<Object> tests = new ArrayList<>();
        tests.add(test("healthy", Map.of(), List.of()));
        FIRING.forEach((alert, series) -> tests.add(test(alert, series, firing(alert))));
        tests.add(test("without a manager", Map.of("lite_manager_leads{", NO_SAMPLES), firing("LiteNoSingleLeader")));
        Files.writeString(
                directory.resolve("tests.yaml"),
                new Yaml()
                        .dump(Map.of(
                                "rule_files", List.of("rules.yaml"), "evaluation_interval", "1m", "tests", tests)));
        Promtool.Output output = Promtool.run(directory, "test", "rules", "tests.yaml");
        assertThat(output.status()).as(output.text()).isZero();
    }

    @Test
    void onePrincipalCanReachTheThresholdsOfDividedLimits() {
        Map<String, Integer> most = Map.of(
                "LiteSessionsNearLimit", ONE_PRINCIPALS_SESSIONS,
                "LiteHandlesNearLimit", ONE_PRINCIPALS_HANDLES,
                "LiteMappedLmrsNearLimit", ONE_PRINCIPALS_HANDLES);
        Pattern threshold = Pattern.compile("> ([0-9.]+) \\* ([0-9]+)$");
        int count = 0;
        for (Map<String, Object> rule : rules()) {
            Integer reachable = most.get(String.valueOf(rule.get("alert")));
            if (reachable != null) {
                Matcher matcher = threshold.matcher(String.valueOf(rule.get("expr")));
                assertThat(matcher.find()).as(rule.toString()).isTrue();
                assertThat(Double.parseDouble(matcher.group(1)) * Integer.parseInt(matcher.group(2)))
                        .as(rule.toString())
                        .isLessThan(reachable);
                count++;
            }
        }
        assertThat(count).isEqualTo(most.size());
    }

    @ParameterizedTest
    @CsvSource({
        "node.heap, 2Gi, 1048576", // the default of a session
        "node.heap, 512Mi, 524288",
        "node.properties.lite\\.node\\.limits\\.handles, 1000, 1000",
        "node.properties.lite\\.node\\.limits\\.handles, 0, 262144", // by the heap
        "node.properties.lite\\.node\\.limits\\.handles-per-session, 2000, 2000"
    })
    void theAlertForHandlesIsBelowTheSmallestLimitOfANode(String name, String value, int limit) {
        String rules = String.valueOf(
                ValueSets.object(Chart.render("lite", "side-by-side", Map.of(name, value)), "PrometheusRule", "lite")
                        .map("spec"));
        assertThat(rules)
                .contains("lite_node_handles{lite_cluster=\"shop.lite\"} > 0.4 * " + limit + ",")
                .contains("lite_node_lmrs_mapped{lite_cluster=\"shop.lite\"} > 0.4 * " + limit + ",");
    }

    private static List<Object> firing(String alert) {
        return List.of(Map.of("labels", "{alertname=\"" + alert + "\"}", "value", 1));
    }

    private static Map<String, Object> test(String name, Map<String, String> changed, List<Object> expected) {
        List<Object> input = new ArrayList<>();
        int changes = 0;
        for (Sample sample : ScrapedMetrics.samples()) {
            if (!sample.name().startsWith("lite_")) {
                continue;
            }
            String values = "%s+0x120".formatted(sample.value());
            for (Map.Entry<String, String> change : changed.entrySet()) {
                if (sample.series().startsWith(change.getKey())) {
                    values = change.getValue();
                    changes++;
                }
            }
            input.add(Map.of("series", sample.series(), "values", values));
        }
        assertThat(changes)
                .as(name)
                .isEqualTo(changed.isEmpty() ? 0 : changed.keySet().toString().contains("manager") ? 1 : 2);
        return Map.of(
                "name",
                name,
                "interval",
                "1m",
                "input_series",
                input,
                "promql_expr_test",
                List.of(Map.of(
                        "expr",
                                "count by (alertname) (count by (alertname, host) (ALERTS{alertstate=\"firing\"}) > 0) > bool 0",
                        "eval_time", "100m",
                        "exp_samples", expected)));
    }

    private void writeRules() throws IOException {
        KubernetesObject rule = ValueSets.object(Chart.render("lite", "side-by-side"), "PrometheusRule", "lite");
        Files.writeString(directory.resolve("rules.yaml"), new Yaml().dump(rule.map("spec")));
    }

    static Set<String> metricsOf(String expression) {
        return metrics(expression);
    }
}
