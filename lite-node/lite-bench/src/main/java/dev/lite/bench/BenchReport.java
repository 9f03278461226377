package dev.lite.bench;

import static dev.lite.bench.load.Results.number;

import dev.lite.bench.load.Results;
import java.nio.file.Path;

/**
 * The rows of one benchmark: printed immediately, and written as CSV with the columns {@code
 * benchmark,case,bytes,unit,ours,raw,ratio}, all of them medians.
 */
final class BenchReport {
    private static final String LINE = "%-30s %10s %8s %12s %12s %7s%n";

    private final String benchmark;
    private final Results csv;

    BenchReport(String benchmark) {
        this.benchmark = benchmark;
        csv = new Results(benchmark, "benchmark,case,bytes,unit,ours,raw,ratio");
        System.out.printf("%n%s%n", benchmark);
        System.out.printf(LINE, "case", "bytes", "unit", "ours", "raw", "ratio");
    }

    /** Prints a note for the reader of the table. */
    void note(String text) {
        System.out.println("  " + text);
    }

    void add(String name, long bytes, String unit, double ours, double raw) {
        double ratio = ours == raw ? 1 : ours / raw;
        System.out.printf(LINE, name, bytes, unit, number(ours), number(raw), number(ratio));
        csv.add(benchmark, name, Long.toString(bytes), unit, number(ours), number(raw), number(ratio));
    }

    /** Writes {@code <directory>/<benchmark>.csv}. */
    void finish(Path directory) {
        csv.write(directory);
    }
}
