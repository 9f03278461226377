package dev.lite.session.waiting;

import dev.lite.os.waiting.RepeatedLines;
import java.time.Duration;

/** Reports the failures of a thread that continues, to its handler of uncaught exceptions. One thread. */
public final class FailureReports {
    /** Failures are reported at most so often. */
    private static final Duration REPORT_EVERY = Duration.ofMinutes(1);

    private final RepeatedLines reports = new RepeatedLines(1, REPORT_EVERY);

    /** The calling thread has failed. Does not throw. */
    public void report(Throwable failed) {
        try {
            if (reports.suffix("failed") != null) {
                Thread me = Thread.currentThread();
                me.getUncaughtExceptionHandler().uncaughtException(me, failed);
            }
        } catch (Throwable e) {
            // no memory for a report: the work is more important. Without memory, both may be the same object
        }
    }
}
