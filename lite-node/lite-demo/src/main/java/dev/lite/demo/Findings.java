package dev.lite.demo;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** The content of one application's result file. */
final class Findings {

    /** One comparison and whether it held. */
    record Comparison(String what, String expected, String found) {
        boolean held() {
            return expected.equals(found);
        }
    }

    /** One row of the table of latencies. */
    record Latency(String operation, long bytes, long medianNs, long p99Ns) {}

    /** A node as seen by the application. */
    record Node(String name, int id, long arenaBytes, String fabric) {}

    /** A contiguous part of the file on one node. */
    record Extent(String node, long offset, long length) {}

    /** The totals of the calls to one node. */
    record Counted(String node, long extents, long words) {}

    private final Properties values;

    Findings(Properties values) {
        this.values = values;
    }

    static Findings read(Path file) {
        Properties values = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            values.load(reader);
        } catch (IOException e) {
            throw new DemoFailedException("an application succeeded without a result file: " + e.getMessage(), e);
        }
        return new Findings(values);
    }

    String text(String key) {
        String value = values.getProperty(key);
        if (value == null) {
            throw new DemoFailedException("an application's results lack " + key);
        }
        return value;
    }

    long number(String key) {
        return Long.parseLong(text(key));
    }

    List<Comparison> comparisons() {
        List<Comparison> found = new ArrayList<>();
        for (int i = 0; i < number("comparisons"); i++) {
            String key = "comparison." + i;
            found.add(new Comparison(text(key + ".what"), text(key + ".expected"), text(key + ".found")));
        }
        return found;
    }

    List<Latency> latencies() {
        List<Latency> found = new ArrayList<>();
        for (int i = 0; i < number("latencies"); i++) {
            String key = "latency." + i;
            found.add(new Latency(
                    text(key + ".operation"),
                    number(key + ".bytes"),
                    number(key + ".median-ns"),
                    number(key + ".p99-ns")));
        }
        return found;
    }

    List<Node> nodes() {
        List<Node> found = new ArrayList<>();
        for (int i = 0; i < number("nodes"); i++) {
            String key = "node." + i;
            found.add(new Node(
                    text(key + ".name"),
                    Math.toIntExact(number(key + ".id")),
                    number(key + ".arena-bytes"),
                    text(key + ".fabric")));
        }
        return found;
    }

    List<Extent> extents() {
        List<Extent> found = new ArrayList<>();
        for (int i = 0; i < number("extents"); i++) {
            String key = "extent." + i;
            found.add(new Extent(text(key + ".node"), number(key + ".offset"), number(key + ".length")));
        }
        return found;
    }

    List<Counted> counted() {
        List<Counted> found = new ArrayList<>();
        for (int i = 0; i < number("counted"); i++) {
            String key = "counted." + i;
            found.add(new Counted(text(key + ".node"), number(key + ".extents"), number(key + ".words")));
        }
        return found;
    }
}
