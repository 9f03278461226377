package dev.lite.fabric.rdma.verbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** How much memory this process may pin: registered memory must not be moved or swapped out. */
public final class MemoryLock {
    /** Less than this does not even suffice for queues. */
    private static final long BYTES_MIN = 1 << 20;

    private static final String LIMIT = "Max locked memory";
    private static final String CAPABILITIES = "CapEff:";
    private static final int CAP_IPC_LOCK = 14;
    private static final int HEXADECIMAL = 16;

    private MemoryLock() {}

    /** Why this process may not pin what any RDMA needs; empty if it may. */
    public static Optional<String> tooLow() {
        return missing(BYTES_MIN);
    }

    /** Why this process may not pin so many bytes, as a sentence that says what to do. */
    public static Optional<String> missing(long bytes) {
        return missing(bytes, lines("/proc/self/limits"), lines("/proc/self/status"));
    }

    public static Optional<String> missing(long bytes, List<String> limits, List<String> status) {
        if (isPrivileged(status)) {
            return Optional.empty();
        }
        long limit = limit(limits);
        if (limit < 0 || limit >= bytes) {
            return Optional.empty();
        }
        return Optional.of(
                "this process may lock %d bytes of memory, and %d are to be registered: raise the limit (ulimit -l, LimitMEMLOCK=) or give it CAP_IPC_LOCK"
                        .formatted(limit, bytes));
    }

    /** The limit as text for messages. */
    public static String describe() {
        long limit = limit(lines("/proc/self/limits"));
        return limit < 0
                ? "the limit of locked memory is not the cause"
                : "locked memory is limited to %d bytes".formatted(limit);
    }

    private static List<String> lines(String path) {
        try {
            return Files.readAllLines(Path.of(path));
        } catch (IOException e) {
            return List.of(); // then the registration itself reports it
        }
    }

    /** The soft limit in bytes, or -1 for none. */
    private static long limit(List<String> limits) {
        for (String line : limits) {
            if (line.startsWith(LIMIT)) {
                String soft = line.substring(LIMIT.length()).strip().split("\\s+", 2)[0];
                return soft.equals("unlimited") ? -1 : Long.parseLong(soft);
            }
        }
        return -1;
    }

    private static boolean isPrivileged(List<String> status) {
        for (String line : status) {
            if (line.startsWith(CAPABILITIES)) {
                long capabilities = Long.parseUnsignedLong(
                        line.substring(CAPABILITIES.length()).strip(), HEXADECIMAL);
                return ((capabilities >>> CAP_IPC_LOCK) & 1) == 1;
            }
        }
        return false;
    }
}
