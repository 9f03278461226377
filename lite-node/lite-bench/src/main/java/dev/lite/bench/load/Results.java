package dev.lite.bench.load;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The results of a benchmark as a CSV file. */
public final class Results {
    private static final double TWO_DIGITS_BELOW = 10;
    private static final double ONE_DIGIT_BELOW = 1000;

    private final String name;
    private final List<String> lines = new ArrayList<>();

    /** @param header the names of the columns, separated by commas */
    public Results(String name, String header) {
        this.name = name;
        lines.add(header);
    }

    /** Adds a row. */
    public void add(String... columns) {
        lines.add(String.join(",", columns));
    }

    /** Writes {@code <directory>/<name>.csv}, and prints where it is. */
    public void write(Path directory) {
        Path file = directory.resolve(name + ".csv");
        try {
            Files.createDirectories(directory);
            Files.write(file, lines);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file, e);
        }
        System.out.printf("%nwritten to %s%n", file);
    }

    /** A figure with three or more digits. */
    public static String number(double value) {
        String format = value < TWO_DIGITS_BELOW ? "%.2f" : value < ONE_DIGIT_BELOW ? "%.1f" : "%.0f";
        return String.format(Locale.ROOT, format, value);
    }
}
