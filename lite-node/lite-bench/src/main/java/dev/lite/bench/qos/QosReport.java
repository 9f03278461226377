package dev.lite.bench.qos;

import static dev.lite.bench.load.Results.number;

import dev.lite.bench.load.Results;
import dev.lite.cluster.qos.QosPolicy.Mode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/**
 * Prints the table, and writes it as {@code qos.csv}; the series as {@code qos-series.csv} and a plot for each place and mode:
 * {@code qos-PLACE-MODE.svg}.
 */
final class QosReport {
    private static final String HIGH = "shop";
    private static final String LOW = "batch";
    private static final Load.Outcome NOTHING = new Load.Outcome("", 0, 0, 0, 0, List.of());
    private static final double BYTES_PER_MB = 1e6;
    private static final double MS = 1000;
    private static final double NS_PER_MS = 1e6;

    private final Path directory;
    private final Results csv = new Results("qos", "place,mode,figure,unit,value,ratio");
    private final Results series = new Results("qos-series", "place,mode,class,seconds,mb_per_second");

    QosReport(Path directory) {
        this.directory = directory;
    }

    /** One run of a workload. */
    record Run(Mode mode, String workload, Map<String, Load.Outcome> outcomes) {}

    void note(String text) {
        System.out.printf("%n%s%n", text);
    }

    /** The medians of the runs, and beside them the ratios to what a class gets alone without a policy. */
    void table(String place, int runMs, List<Run> runs) {
        double alone = rate(runs, Mode.OFF, "high", HIGH, runMs);
        double aloneNs = p99(runs, Mode.OFF, "high");
        double lowAlone = rate(runs, Mode.OFF, "low", LOW, runMs);
        double total = rate(runs, Mode.OFF, "both", HIGH, runMs) + rate(runs, Mode.OFF, "both", LOW, runMs);
        System.out.printf("  %-8s %-16s %12s %8s%n", "mode", "figure", "value", "ratio");
        for (Mode mode : runs.stream().map(Run::mode).distinct().toList()) {
            double high = rate(runs, mode, "both", HIGH, runMs);
            double low = rate(runs, mode, "both", LOW, runMs);
            double highAlone = rate(runs, mode, "high", HIGH, runMs);
            row(place, mode, "HIGH alone", "MB/s", highAlone, highAlone / alone);
            row(place, mode, "HIGH with LOW", "MB/s", high, high / alone);
            row(place, mode, "LOW with HIGH", "MB/s", low, low / lowAlone);
            row(place, mode, "total", "MB/s", high + low, (high + low) / total);
            double many = rate(runs, mode, "many", HIGH, runMs);
            row(place, mode, "HIGH with 5 LOW", "MB/s", many, many / alone);
            double only = rate(runs, mode, "low", LOW, runMs);
            row(place, mode, "LOW alone", "MB/s", only, only / lowAlone);
            double itsAloneNs = p99(runs, mode, "high");
            row(place, mode, "HIGH alone p99", "ms", itsAloneNs / NS_PER_MS, itsAloneNs / aloneNs);
            double ns = p99(runs, mode, "both");
            row(place, mode, "HIGH p99", "ms", ns / NS_PER_MS, ns / aloneNs);
        }
    }

    /** What each application of low priority got beside one of high priority, as a share of their mean, in all runs. */
    void lowShares(String place, List<Run> runs) {
        for (Mode mode : runs.stream().map(Run::mode).distinct().toList()) {
            Map<String, Long> bytes = new TreeMap<>();
            runs.stream()
                    .filter(run -> run.mode() == mode && run.workload().equals("many"))
                    .flatMap(run -> run.outcomes().values().stream())
                    .filter(one -> !one.application().equals(HIGH))
                    .forEach(one -> bytes.merge(one.application(), one.bytes(), Long::sum));
            shares(place, mode, "5 LOW beside HIGH", bytes.values());
        }
    }

    private void row(String place, Mode mode, String figure, String unit, double value, double ratio) {
        System.out.printf("  %-8s %-16s %7s %4s %8s%n", mode, figure, number(value), unit, number(ratio));
        csv.add(place, mode.toString(), figure, unit, number(value), number(ratio));
    }

    private static double rate(List<Run> runs, Mode mode, String workload, String application, int runMs) {
        return median(runs, mode, workload, application, one -> one.bytes() / BYTES_PER_MB / (runMs / MS));
    }

    private static double p99(List<Run> runs, Mode mode, String workload) {
        return median(runs, mode, workload, HIGH, Load.Outcome::p99Ns);
    }

    private static double median(
            List<Run> runs, Mode mode, String workload, String application, ToDoubleFunction<Load.Outcome> figure) {
        double[] values = runs.stream()
                .filter(run -> run.mode() == mode && run.workload().equals(workload))
                .map(run -> run.outcomes().get(application))
                .mapToDouble(figure)
                .sorted()
                .toArray();
        return values[values.length / 2];
    }

    /** What each of ten equal applications got, as a share of the mean. */
    void fairness(String place, Mode mode, String workload, int runMs, Map<String, Load.Outcome> outcomes) {
        double total = outcomes.values().stream().mapToLong(Load.Outcome::bytes).sum() / (runMs * MS);
        System.out.printf("  %-8s %s: %s MB/s in all%n", mode, workload, number(total));
        csv.add(place, mode.toString(), workload + " total", "MB/s", number(total), "");
        shares(
                place,
                mode,
                workload,
                outcomes.values().stream().map(Load.Outcome::bytes).toList());
    }

    private void shares(String place, Mode mode, String what, Collection<Long> bytes) {
        double mean = bytes.stream().mapToLong(one -> one).average().orElse(1);
        double[] shares = bytes.stream().mapToDouble(one -> one / mean).sorted().toArray();
        System.out.printf(
                "  %-8s %s: %d applications get %s to %s of the mean: %s%n",
                mode,
                what,
                shares.length,
                number(shares[0]),
                number(shares[shares.length - 1]),
                Arrays.stream(shares).mapToObj(Results::number).toList());
        csv.add(place, mode.toString(), what + " least", "of the mean", number(shares[0]), "");
        csv.add(place, mode.toString(), what + " most", "of the mean", number(shares[shares.length - 1]), "");
    }

    /** The throughput over time. */
    void figure(String place, Mode mode, Map<String, Load.Outcome> outcomes) {
        Map<String, List<Double>> lines = new TreeMap<>();
        lines.put("high", perSecond(outcomes.getOrDefault(HIGH, NOTHING)));
        lines.put("low", perSecond(outcomes.getOrDefault(LOW, NOTHING)));
        lines.forEach((name, line) -> {
            for (int step = 0; step < line.size(); step++) {
                series.add(
                        place, mode.toString(), name, number((step + 1) * Load.STEP_MS / MS), number(line.get(step)));
            }
        });
        Path file = directory.resolve("qos-%s-%s.svg".formatted(place, mode));
        Plot.write(file, "%s, %s".formatted(place, mode), lines);
        System.out.printf("  %-8s over time: %s%n", mode, file);
    }

    private static List<Double> perSecond(Load.Outcome outcome) {
        List<Double> line = new ArrayList<>();
        for (long bytes : outcome.series()) {
            line.add(bytes / BYTES_PER_MB / (Load.STEP_MS / MS));
        }
        return line;
    }

    void finish() {
        csv.write(directory);
        series.write(directory);
    }
}
