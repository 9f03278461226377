package dev.lite.demo;

import dev.lite.demo.Findings.Comparison;
import dev.lite.demo.Findings.Counted;
import dev.lite.demo.Findings.Extent;
import dev.lite.demo.Findings.Latency;
import dev.lite.demo.Findings.Node;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/** The demo's final report: the results as text, and whether every comparison held. */
final class Report {

    private static final int EXTENTS_SHOWN = 6;

    private final DemoSettings settings;
    private final Findings store;
    private final Findings compare;
    private final OptionalLong wordsOfWc;
    private final StringBuilder out = new StringBuilder();

    /** @param wordsOfWc empty when there is no {@code wc} */
    Report(DemoSettings settings, Findings store, Findings compare, OptionalLong wordsOfWc) {
        this.settings = settings;
        this.store = store;
        this.compare = compare;
        this.wordsOfWc = wordsOfWc;
    }

    /** All comparisons: those made by the applications, and those between their results. */
    List<Comparison> comparisons() {
        List<Comparison> all = new ArrayList<>(compare.comparisons());
        all.add(new Comparison("SHA-256 stored and read back", store.text("sha256"), compare.text("sha256")));
        long extentBytes = store.extents().stream().mapToLong(Extent::length).sum();
        all.add(comparison("bytes of the file and of all extents", settings.bytes(), extentBytes));
        all.add(comparison("words of all replies and the shared word", store.number("words.replied"), words()));
        wordsOfWc.ifPresent(words -> all.add(comparison("words by wc -w and the shared word", words, words())));
        all.addAll(store.comparisons());
        return all;
    }

    private long words() {
        return compare.number("words");
    }

    boolean allHeld() {
        return comparisons().stream().allMatch(Comparison::held);
    }

    /** The complete text. */
    String text() {
        out.setLength(0);
        nodes();
        extents();
        file();
        comparisonLines();
        latencies();
        return out.toString();
    }

    private void nodes() {
        heading("Nodes, as seen from %s".formatted(store.text("node")));
        line("  %-10s %4s %12s   %s", "name", "id", "arena", "fabric");
        for (Node node : store.nodes()) {
            line("  %-10s %4d %12s   %s", node.name(), node.id(), Sizes.of(node.arenaBytes()), node.fabric());
        }
    }

    private void extents() {
        List<Extent> extents = store.extents();
        heading("Extents of the file: %,d".formatted(extents.size()));
        Map<String, List<Extent>> byNode = new TreeMap<>();
        extents.forEach(extent ->
                byNode.computeIfAbsent(extent.node(), node -> new ArrayList<>()).add(extent));
        line("  %-10s %8s %12s %8s", "node", "extents", "size", "share");
        byNode.forEach((node, its) -> {
            long bytes = its.stream().mapToLong(Extent::length).sum();
            line("  %-10s %,8d %12s %6.1f %%", node, its.size(), Sizes.of(bytes), 100.0 * bytes / settings.bytes());
        });
        line("  the first ones:");
        for (Extent extent : extents.subList(0, Math.min(EXTENTS_SHOWN, extents.size()))) {
            line(
                    "    bytes %,15d to %,15d on %s",
                    extent.offset(), extent.offset() + extent.length() - 1, extent.node());
        }
    }

    private void file() {
        heading("The file");
        line("  path      %s", settings.file());
        line("  bytes     %,d", settings.bytes());
        line("  SHA-256   %s", store.text("sha256"));
        line("  words     %,d, counted on the nodes that hold them:", words());
        for (Counted counted : store.counted()) {
            String calls = counted.extents() == 1 ? "1 call" : "%,d calls".formatted(counted.extents());
            line("    %,15d in %s to %s", counted.words(), calls, counted.node());
        }
        line(
                "  wc -w     %s",
                wordsOfWc.isPresent()
                        ? String.format(Locale.ROOT, "%,d", wordsOfWc.getAsLong())
                        : "not compared: this machine has no wc");
    }

    private void comparisonLines() {
        heading("Comparisons");
        for (Comparison comparison : comparisons()) {
            if (comparison.held()) {
                line("  ok        %s", comparison.what());
            } else {
                line(
                        "  DIFFERENT %s: expected %s, found %s",
                        comparison.what(), comparison.expected(), comparison.found());
            }
        }
    }

    private void latencies() {
        heading("Time of one operation, application on %s, memory on %s"
                .formatted(store.text("node"), store.text("latency.node")));
        line("  %-10s %12s %12s %12s", "operation", "bytes", "median µs", "p99 µs");
        for (Latency latency : store.latencies()) {
            line(
                    "  %-10s %,12d %12.2f %12.2f",
                    latency.operation(), latency.bytes(), latency.medianNs() / 1e3, latency.p99Ns() / 1e3);
        }
    }

    private static Comparison comparison(String what, long expected, long found) {
        return new Comparison(what, Long.toString(expected), Long.toString(found));
    }

    private void heading(String text) {
        out.append('\n').append(text).append('\n');
    }

    private void line(String format, Object... values) {
        out.append(String.format(Locale.ROOT, format, values)).append('\n');
    }
}
