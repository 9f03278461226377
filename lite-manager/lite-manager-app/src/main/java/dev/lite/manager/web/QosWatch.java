package dev.lite.manager.web;

import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.qos.QosRecord;
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

    QosWatch(ClusterDirectory directory, WebProperties properties) {
        record = new QosRecord(directory);
        deadline = properties.requestDeadline();
        record.watch(changes::release);
        thread = Thread.ofVirtual().name("lite-qos-watch").unstarted(this::run);
    }

    /** Starts watching. Called once. */
    void start(Consumer<QosRecord.Revision> changed) {
        listener = changed;
        thread.start();
    }

    private void run() {
        QosRecord.Revision last = QosRecord.Revision.NONE;
        boolean behind = false;
        while (!Thread.currentThread().isInterrupted()) {
            try {
                if (behind) {
                    boolean unused = changes.tryAcquire(RETRY.toNanos(), TimeUnit.NANOSECONDS);
                } else {
                    changes.acquire();
                }
                changes.drainPermits();
                QosRecord.Revision now = record.read(deadline);
                behind = false;
                if (!now.equals(last)) {
                    last = now;
                    listener.accept(now);
                }
            } catch (LiteException e) {
                behind = true;
                log.debug("cannot read the policy for quality of service; retrying in {}: {}", RETRY, e.getMessage());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
