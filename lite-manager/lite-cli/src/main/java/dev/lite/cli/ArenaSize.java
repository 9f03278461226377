package dev.lite.cli;

import dev.lite.local.FreeMemory;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The memory of each node of a cluster on this machine. */
final class ArenaSize {
    private static final Pattern SIZE = Pattern.compile("(\\d{1,12})(B|KB|MB|GB)?", Pattern.CASE_INSENSITIVE);
    private static final long MIB = 1L << 20;
    private static final long WANTED = 256 * MIB;
    private static final long MIN = 16 * MIB;

    private ArenaSize() {}

    /** The size in bytes of {@code 64MB}, for example. */
    static long parse(String size) {
        Matcher matcher = SIZE.matcher(size);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "--arena is \"%s\"; it must be a number followed by B, KB, MB or GB".formatted(size));
        }
        long number = Long.parseLong(matcher.group(1));
        String unit = matcher.group(2);
        return switch (unit == null ? "b" : unit.toLowerCase(Locale.ROOT)) {
            case "kb" -> Math.multiplyExact(number, 1L << 10);
            case "mb" -> Math.multiplyExact(number, 1L << 20);
            case "gb" -> Math.multiplyExact(number, 1L << 30);
            default -> number;
        };
    }

    /** 256 MiB, or less so that all nodes together take at most half of the free memory. */
    static long fitting(int nodes) {
        FreeMemory free = FreeMemory.now();
        return fitting(nodes, Math.min(free.sharedBytes(), free.availableBytes()));
    }

    static long fitting(int nodes, long freeBytes) {
        long share = freeBytes / 2 / Math.max(1, nodes) / MIB * MIB;
        return Math.max(MIN, Math.min(WANTED, share));
    }
}
