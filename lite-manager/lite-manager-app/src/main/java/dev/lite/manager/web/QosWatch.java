package dev.lite.manager.web;

import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.qos.QosRecord;
import dev.lite.os.waiting.RepeatingThread;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/** Reads the policy for quality of service after each change, on a thread of its own, since a watch must not block. */
@Component
class QosWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(QosWatch.class);
    private static final Duration RETRY = Duration.ofSeconds(1);

    private final QosRecord record;
    private final Duration deadline;
    private final Semaphore changes = new Semaphore(0);
    private final Thread thread;
    private volatile Consumer<QosRecord.Revision> listener = revision -> {};
    private QosRecord.Revision last = QosRecord.Revision.NONE; // confined to the thread
    private boolean behind; // confined to the thread

    QosWatch(ClusterDirectory directory, WebProperties properties) {
        record = new QosRecord(directory);
        deadline = properties.requestDeadline();
        record.watch(changes::release);
        thread = RepeatingThread.unstarted("lite-qos-watch", this::step, log::error);
    }

    /** Starts watching. Called once. */
    void start(Consumer<QosRecord.Revision> changed) {
        listener = changed;
        thread.start();
    }

    /** Waits for a change, or after a failure for the next try. On the thread only. */
    private boolean step() throws InterruptedException {
        if (behind) {
            boolean unused = changes.tryAcquire(RETRY.toNanos(), TimeUnit.NANOSECONDS);
        } else {
            changes.acquire();
        }
        changes.drainPermits();
        behind = true; // also if it fails with an error
        try {
            QosRecord.Revision now = record.read(deadline);
            if (!now.equals(last)) {
                listener.accept(now);
                last = now;
            }
            behind = false;
        } catch (LiteException e) {
            log.debug("cannot read the policy for quality of service; retrying in {}: {}", RETRY, e.getMessage());
        }
        return true;
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
