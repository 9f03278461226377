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
    private static final int DIGITS_MAX = 6;

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

    /** A figure with three or more digits that count, also below 1; with fewer below 0.0001. */
    public static String number(double value) {
        int digits = value < TWO_DIGITS_BELOW ? 2 : value < ONE_DIGIT_BELOW ? 1 : 0;
        if (value > 0 && value < 1) {
            digits = Math.min(DIGITS_MAX, digits - (int) Math.floor(Math.log10(value)));
        }
        return String.format(Locale.ROOT, "%." + digits + "f", value);
    }
}
