package dev.lite.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The rows of one benchmark: printed immediately, and written as CSV with the columns {@code
 * benchmark,case,bytes,unit,ours,raw,ratio}, all of them medians.
 */
final class BenchReport {
    private static final String LINE = "%-30s %10s %8s %12s %12s %7s%n";

    private final String benchmark;
    private final List<String> csv = new ArrayList<>();

    BenchReport(String benchmark) {
        this.benchmark = benchmark;
        csv.add("benchmark,case,bytes,unit,ours,raw,ratio");
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
        csv.add(String.join(
                ",", benchmark, name, Long.toString(bytes), unit, number(ours), number(raw), number(ratio)));
    }

    /** Writes {@code <directory>/<benchmark>.csv}. */
    void finish(Path directory) {
        Path file = directory.resolve(benchmark + ".csv");
        try {
            Files.createDirectories(directory);
            Files.write(file, csv);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file, e);
        }
        System.out.printf("%nwritten to %s%n", file);
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, value < 1000 ? "%.2f" : "%.0f", value);
    }
}
