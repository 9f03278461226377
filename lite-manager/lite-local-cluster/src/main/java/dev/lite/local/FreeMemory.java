package dev.lite.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The memory that this machine has left for arenas. Immutable; any thread.
 *
 * @param sharedBytes free space of {@link #SHARED_MEMORY}; {@code Long.MAX_VALUE} when it has no limit
 * @param availableBytes memory that new processes can use without swapping
 */
public record FreeMemory(long sharedBytes, long availableBytes) {
    /** The file system of the arenas. */
    public static final Path SHARED_MEMORY = Path.of("/dev/shm");

    /**
     * Measures it.
     *
     * @throws UncheckedIOException when the system does not tell
     */
    public static FreeMemory now() {
        try {
            FileStore shared = Files.getFileStore(SHARED_MEMORY);
            return new FreeMemory(
                    shared(shared.getTotalSpace(), shared.getUsableSpace()),
                    available(Files.readAllLines(Path.of("/proc/meminfo"))));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the free memory of this machine: " + e.getMessage(), e);
        }
    }

    /** A memory file system without a limit tells a size of 0, and no free space. */
    static long shared(long totalBytes, long usableBytes) {
        return totalBytes == 0 ? Long.MAX_VALUE : usableBytes;
    }

    /** The value of {@code MemAvailable} in {@code /proc/meminfo}; {@code Long.MAX_VALUE} when missing. */
    static long available(List<String> lines) {
        return lines.stream()
                .filter(line -> line.startsWith("MemAvailable:"))
                .map(line -> line.replaceAll("\\D", ""))
                .mapToLong(kibibytes -> Long.parseLong(kibibytes) * 1024)
                .findFirst()
                .orElse(Long.MAX_VALUE);
    }
}
