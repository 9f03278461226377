package dev.lite.bench.callers;

import static dev.lite.bench.load.Results.number;

import dev.lite.bench.callers.Row.Measured;
import dev.lite.bench.load.Results;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Prints a table for each comparison: medians of the runs, and under it for each row of LITE its ratios to the others. The CSV
 * file has the columns {@code comparison,contender,workload,median_us,p99_us,p999_us,per_second,lowest_per_second,slowest_share}.
 */
final class CallersReport {
    private static final double NS_PER_US = 1_000;
    private static final double KILO = 1_000;

    private final Results csv = new Results(
            "callers",
            "comparison,contender,workload,median_us,p99_us,p999_us,per_second,lowest_per_second,slowest_share");

    /** Prints a note for the reader of the table. */
    void note(String text) {
        System.out.println("  " + text);
    }

    /** Prints the table of one comparison. */
    void add(Comparison comparison, List<Measured> measured) {
        System.out.printf(
                "%n%-66s %9s %9s %9s %9s %10s %8s%n",
                comparison.title(), "median us", "p99 us", "p99.9 us", "k/s", "lowest k/s", "slowest");
        for (Measured each : measured) {
            String what = each.row().contender() + ": " + each.row().workload();
            System.out.printf(
                    "  %-64s %9s %9s %9s %9s %10s %8s%n",
                    what,
                    number(each.median().medianNs() / NS_PER_US),
                    number(each.median().p99Ns() / NS_PER_US),
                    number(each.median().p999Ns() / NS_PER_US),
                    number(each.median().perSecond() / KILO),
                    number(each.lowestPerSecond() / KILO),
                    number(each.median().slowest()));
            csv.add(
                    comparison.title(),
                    quoted(each.row().contender()),
                    quoted(each.row().workload().toString()),
                    number(each.median().medianNs() / NS_PER_US),
                    number(each.median().p99Ns() / NS_PER_US),
                    number(each.median().p999Ns() / NS_PER_US),
                    number(each.median().perSecond()),
                    number(each.lowestPerSecond()),
                    number(each.median().slowest()));
        }
        for (Measured ours : measured) {
            if (ours.row().isOurs()) {
                ratios(ours, measured);
            }
        }
    }

    private void ratios(Measured ours, List<Measured> measured) {
        List<String> others = new ArrayList<>();
        for (Measured other : measured) {
            if (ours.row().isOutstandingFormOf(other.row())) {
                note("%s, %s: %s times the throughput of one at a time"
                        .formatted(
                                ours.row().contender(),
                                ours.row().workload(),
                                number(ours.median().perSecond()
                                        / other.median().perSecond())));
            }
            if (!other.row().isOurs()
                    && other.row().workload().equals(ours.row().workload())) {
                others.add("%s %s, %s"
                        .formatted(
                                other.row().contender(),
                                number(ours.median().medianNs() / other.median().medianNs()),
                                number(ours.median().perSecond()
                                        / other.median().perSecond())));
            }
        }
        if (!others.isEmpty()) {
            note("%s, %s, to (median, throughput): %s"
                    .formatted(ours.row().contender(), ours.row().workload(), String.join("; ", others)));
        }
    }

    private static String quoted(String text) {
        return '"' + text + '"';
    }

    /** Writes {@code <directory>/callers.csv}. */
    void finish(Path directory) {
        csv.write(directory);
    }
}
