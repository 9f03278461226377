package dev.lite.helm;

import dev.lite.local.LocalCluster;
import dev.lite.local.LocalProcess;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The metrics of a manager and two nodes that run, as Prometheus reads them. Read once. */
final class ScrapedMetrics {
    private static final Pattern SAMPLE = Pattern.compile("([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\\{(.*)})? (\\S+)");

    private ScrapedMetrics() {}

    /**
     * One value.
     *
     * @param labels as in the text, with those that the ServiceMonitor adds
     */
    record Sample(String name, String labels, double value) {
        /** As promtool's tests write a series. */
        String series() {
            return name + "{" + labels + "}";
        }
    }

    private static final class Holder {
        static final List<Sample> SAMPLES = scrape();
    }

    static List<Sample> samples() {
        return Holder.SAMPLES;
    }

    static Set<String> names() {
        return samples().stream().map(Sample::name).collect(Collectors.toSet());
    }

    private static List<Sample> scrape() {
        String version = System.getProperty("lite.helm.version");
        try (LocalCluster cluster = LocalCluster.builder()
                .name("helm-" + ProcessHandle.current().pid())
                .jars(jar("lite-manager/lite-manager-app", version), jar("lite-node/lite-node-app", version))
                .nodes(2)
                .arenaBytes(16 << 20)
                .startDeadline(Waits.seconds(90))
                .nodeJavaOption("-XX:TieredStopAtLevel=1")
                .logDirectory(Chart.ROOT.resolve("helm/target/processes"))
                .build()) {
            cluster.up(line -> {});
            List<Sample> samples = new ArrayList<>();
            for (int node = 1; node <= 2; node++) {
                LocalProcess process = cluster.node(node);
                Waits.until(
                        "the nodes are connected",
                        Waits.seconds(60),
                        () -> text(process).contains("lite_node_links{fabric=\"none\"} 0.0"));
                parse(text(process), "node-" + node, samples);
            }
            Waits.until(
                    "the manager leads",
                    Waits.seconds(60),
                    () -> text(cluster.manager()).contains("lite_manager_leads 1.0"));
            parse(text(cluster.manager()), "manager-1", samples);
            return List.copyOf(samples);
        }
    }

    private static Path jar(String module, String version) {
        String name = module.substring(module.indexOf('/') + 1);
        return Chart.ROOT.resolve("%s/target/extracted/%s-%s-exec.jar".formatted(module, name, version));
    }

    private static String text(LocalProcess process) {
        String health = process.health().orElseThrow();
        URI uri = URI.create(health.substring(0, health.lastIndexOf('/')) + "/prometheus");
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<String> response = client.send(
                    HttpRequest.newBuilder(uri).timeout(Waits.seconds(20)).build(),
                    HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) {
                throw new AssertionError(uri + ": " + response.statusCode());
            }
            return response.body();
        } catch (IOException e) {
            throw new AssertionError(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    private static void parse(String text, String host, List<Sample> samples) {
        String added = "lite_cluster=\"shop.lite\",host=\"%s\",instance=\"%s\",pod=\"%s\"".formatted(host, host, host);
        text.lines().filter(line -> !line.startsWith("#")).forEach(line -> {
            Matcher sample = SAMPLE.matcher(line);
            if (!sample.matches()) {
                throw new AssertionError(line);
            }
            String own = sample.group(2);
            samples.add(new Sample(
                    sample.group(1),
                    own == null || own.isEmpty() ? added : own + "," + added,
                    Double.parseDouble(sample.group(3))));
        });
    }
}
