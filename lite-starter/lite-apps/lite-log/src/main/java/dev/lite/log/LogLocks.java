package dev.lite.log;

import dev.lite.api.HeldLock;
import dev.lite.api.LtSync;
import java.time.Duration;
import java.util.function.Supplier;

/** The LITE locks of a log. Any thread. */
final class LogLocks {
    private final LtSync sync;
    private final String prefix;
    private final Duration deadline;

    LogLocks(LtSync sync, String log, Duration deadline) {
        this.sync = sync;
        this.prefix = Metadata.name(log);
        this.deadline = deadline;
    }

    /** Excludes other changes of the table of consumers, removals of segments, and the creation of the log. */
    <T> T underTable(Supplier<T> body) {
        return under("/table", body);
    }

    /** As the consumer of this name. */
    <T> T underConsumer(String name, Supplier<T> body) {
        return under("/consumer/" + name, body);
    }

    HeldLock consumer(String name) {
        return acquire("/consumer/" + name, deadline);
    }

    HeldLock cleaner(Duration timeout) {
        return acquire("/cleaner", timeout);
    }

    private HeldLock acquire(String name, Duration timeout) {
        return sync.lock(prefix + name).acquire(timeout);
    }

    private <T> T under(String name, Supplier<T> body) {
        HeldLock held = acquire(name, deadline);
        try {
            return body.get();
        } finally {
            held.close();
        }
    }
}
