package dev.lite.demo;

import java.util.Locale;

/** Formats sizes. */
final class Sizes {

    private static final String[] UNITS = {"bytes", "KiB", "MiB", "GiB", "TiB"};

    private Sizes() {}

    /** For example {@code 4.0 MiB}. */
    static String of(long bytes) {
        double value = bytes;
        int unit = 0;
        while (value >= 1024 && unit < UNITS.length - 1) {
            value /= 1024;
            unit++;
        }
        return unit == 0
                ? "%d %s".formatted(bytes, UNITS[0])
                : String.format(Locale.ROOT, "%.1f %s", value, UNITS[unit]);
    }
}
