package dev.lite.system;

import dev.lite.api.Lite;
import dev.lite.log.LiteLog;
import dev.lite.log.LiteLogs;
import dev.lite.log.LogSpec;
import dev.lite.testing.CommitChecker;
import dev.lite.testing.Waits;
import java.time.Duration;

/**
 * A log with small segments that are cleaned at once, two consumers that follow it, and the writers that a test starts. Knows every commit
 * that was acknowledged. One thread.
 */
final class TestedLog implements AutoCloseable {
    final LiteLog log;
    final LogWriters writers;
    private final LiteLogs logs;
    private final CommitChecker checker = new CommitChecker();
    private final LogConsumers consumers = new LogConsumers();

    /** Creates the log. The session stays the caller's. */
    TestedLog(Lite lite, String name, Duration holeTimeout) {
        logs = new LiteLogs(lite, Waits.seconds(60));
        log = logs.create(
                name,
                LogSpec.defaults()
                        .withSegmentBytes(64 << 10)
                        .withRetentionBytes(0)
                        .withHoleTimeout(holeTimeout));
        writers = new LogWriters(name, checker);
        consumers.start(log, "one", checker.copy());
        consumers.start(log, "two", checker.copy());
        log.startCleaner();
    }

    /** Ends the writers, and checks what the consumers have read. Returns the number of acknowledged commits. */
    int finish() {
        writers.finish();
        consumers.finish();
        checker.check();
        return checker.acknowledgedCount();
    }

    void delete() {
        log.close();
        logs.delete(log.name());
    }

    @Override
    public void close() {
        writers.close();
        consumers.close();
        logs.close();
    }
}
