package dev.lite.manager.web;

import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.qos.QosRecord;
import java.time.Duration;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/** Reads the policy for quality of service after each change, on a thread of its own, since a watch must not block. */
@Component
class QosWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(QosWatch.class);

    private final QosRecord record;
    private final Duration deadline;
    private final ChangeWatch watch = new ChangeWatch("lite-qos-watch", this::read, log::error);
    private volatile Consumer<QosRecord.Revision> listener = revision -> {};
    private QosRecord.Revision last = QosRecord.Revision.NONE; // confined to the thread

    QosWatch(ClusterDirectory directory, WebProperties properties) {
        record = new QosRecord(directory);
        deadline = properties.requestDeadline();
        record.watch(watch::changed);
    }

    /** Starts watching. Called once. */
    void start(Consumer<QosRecord.Revision> changed) {
        listener = changed;
        watch.start();
    }

    private boolean read() {
        QosRecord.Revision now;
        try {
            now = record.read(deadline);
        } catch (LiteException e) {
            log.debug(
                    "cannot read the policy for quality of service; retrying in {}: {}",
                    ChangeWatch.RETRY,
                    e.getMessage());
            return false;
        }
        if (!now.equals(last)) {
            listener.accept(now);
            last = now;
        }
        return true;
    }

    @Override
    public void close() {
        watch.close();
    }
}
