package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One line per fault: operations, failures and violations during the fault, and the time to recover. One thread. */
final class FaultReport {
    private static final String LINE = "%-46s %9s %7s %7s %6s %10s %8s %10s%n";

    private final Duration sessionTimeout;
    private final List<String> lines = new ArrayList<>();

    FaultReport(Duration sessionTimeout) {
        this.sessionTimeout = sessionTimeout;
        lines.add(LINE.formatted("fault", "tried", "failed", "fenced", "wrong", "back (ms)", "x t-out", "locks (ms)"));
    }

    /**
     * Adds a line and prints it.
     *
     * @param recovery the time from the end of the fault to the next complete round of every worker
     * @param locks the time from the fault until other workers got the lock; null if the fault does not require that
     */
    void add(String fault, WorkloadBooks.Tally tally, Duration recovery, @Nullable Duration locks) {
        String line = LINE.formatted(
                fault,
                tally.tried(),
                tally.failed(),
                tally.fenced(),
                tally.wrong(),
                recovery.toMillis(),
                "%.2f".formatted((double) recovery.toNanos() / sessionTimeout.toNanos()),
                locks == null ? "" : locks.toMillis());
        lines.add(line);
        System.out.print("fault: " + line);
        if (!tally.failures().isEmpty()) {
            lines.add("    failed: %s%n".formatted(tally.failures()));
            System.out.print(lines.getLast());
        }
    }

    /** All lines together. */
    void print() {
        System.out.printf("%nsession time-out %d ms%n", sessionTimeout.toMillis());
        lines.forEach(System.out::print);
    }

    static void requireRight(Workload workload) {
        assertThat(workload.books().wrong()).as("lost or wrong effects").isEmpty();
    }
}
