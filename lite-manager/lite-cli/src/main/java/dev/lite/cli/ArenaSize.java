package dev.lite.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The memory of each node of a cluster on this machine. */
final class ArenaSize {
    private static final Pattern SIZE = Pattern.compile("(\\d{1,12})(B|KB|MB|GB)?", Pattern.CASE_INSENSITIVE);
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
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
        try {
            long free = Math.min(
                    Files.getFileStore(SHARED_MEMORY).getUsableSpace(),
                    memoryAvailable(Files.readAllLines(Path.of("/proc/meminfo"))));
            return fitting(nodes, free);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the free space of " + SHARED_MEMORY, e);
        }
    }

    static long fitting(int nodes, long freeBytes) {
        long share = freeBytes / 2 / Math.max(1, nodes) / MIB * MIB;
        return Math.max(MIN, Math.min(WANTED, share));
    }

    private static long memoryAvailable(List<String> lines) {
        return lines.stream()
                .filter(line -> line.startsWith("MemAvailable:"))
                .map(line -> line.replaceAll("\\D", ""))
                .mapToLong(kibibytes -> Long.parseLong(kibibytes) * 1024)
                .findFirst()
                .orElse(Long.MAX_VALUE);
    }
}
