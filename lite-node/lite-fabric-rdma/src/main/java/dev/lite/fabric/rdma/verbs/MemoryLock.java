package dev.lite.fabric.rdma.verbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The limit on memory that this process may pin. Registered memory is pinned, because it must not be moved or swapped out. */
public final class MemoryLock {
    /** With a lower limit, not even queues can be created. */
    private static final long BYTES_MIN = 1 << 20;

    private static final String LIMIT = "Max locked memory";
    private static final String CAPABILITIES = "CapEff:";
    private static final int CAP_IPC_LOCK = 14;
    private static final int HEXADECIMAL = 16;

    private MemoryLock() {}

    /** Why this process cannot pin the minimum that RDMA needs; empty if it can. */
    public static Optional<String> tooLow() {
        return missing(BYTES_MIN);
    }

    /** Why this process cannot pin this many bytes, as a sentence that says what to do; empty if it can. */
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
                "this process may lock %d bytes of memory, but must register %d: raise the limit (ulimit -l, LimitMEMLOCK=) or grant CAP_IPC_LOCK"
                        .formatted(limit, bytes));
    }

    /** Describes the limit for messages. */
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
            return List.of(); // then the registration itself reports the problem
        }
    }

    /** The soft limit in bytes; -1 if there is no limit. */
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
