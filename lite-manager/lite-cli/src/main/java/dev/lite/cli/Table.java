package dev.lite.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Formats rows as columns, each as wide as its widest value, separated by two spaces. */
final class Table {
    private static final String[] UNITS = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    private static final int STEP = 1024;

    private final List<List<String>> rows = new ArrayList<>();

    Table(String... headings) {
        row(headings);
    }

    void row(String... values) {
        rows.add(List.of(values));
    }

    void print(PrintWriter out) {
        int columns = rows.getFirst().size();
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int column = 0; column < columns; column++) {
                widths[column] = Math.max(widths[column], length(row.get(column)));
            }
        }
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int column = 0; column < columns; column++) {
                String value = row.get(column);
                line.append(value).repeat(' ', widths[column] - length(value) + 2);
            }
            out.println(line.toString().stripTrailing());
        }
        out.flush();
    }

    private static int length(String value) {
        return value.codePointCount(0, value.length());
    }

    /** So many things, in words, for example {@code 1 piece} or {@code 2 pieces}. */
    static String count(long count, String one, String several) {
        return "%d %s".formatted(count, count == 1 ? one : several);
    }

    /** Formats bytes with a unit, for example {@code 64 MiB} or {@code 1.5 GiB}. */
    static String size(long bytes) {
        if (bytes < STEP) {
            return bytes + " B";
        }
        double value = (double) bytes / STEP;
        int unit = 0;
        while (value >= STEP) {
            value /= STEP;
            unit++;
        }
        String number = String.format(Locale.ROOT, value == Math.rint(value) ? "%.0f" : "%.1f", value);
        return number + " " + UNITS[unit];
    }
}
