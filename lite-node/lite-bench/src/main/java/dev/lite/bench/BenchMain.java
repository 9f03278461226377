package dev.lite.bench;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** Runs the benchmark that is named: {@code mvn -Pbench -Dlite.bench=one-sided}. */
public final class BenchMain {
    private static final Map<String, Benchmark> BENCHMARKS = new TreeMap<>(Map.of("one-sided", new OneSidedBench()));

    private BenchMain() {}

    /** @param arguments the benchmark's name, and the directory for its CSV file */
    public static void main(String[] arguments) {
        if (arguments.length != 2 || !BENCHMARKS.containsKey(arguments[0])) {
            String given = arguments.length == 0 ? "" : arguments[0];
            System.err.printf("There is no benchmark \"%s\"; -Dlite.bench=NAME takes one of %s%n", given, BENCHMARKS.keySet());
            System.exit(2);
        }
        BenchReport report = new BenchReport(arguments[0]);
        BENCHMARKS.get(arguments[0]).run(report);
        report.finish(Path.of(arguments[1]));
    }

    /** A benchmark adds its rows to a report. */
    interface Benchmark {
        void run(BenchReport report);
    }
}
