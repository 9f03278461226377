package dev.lite.tier.node;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.qos.QosRecord;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.qos.QosService;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows the cluster's policy: reads it after each change and after each lost connection, on a thread of its own, until it has
 * read it. A policy that this node cannot follow leaves the former one in effect. A change at the node itself lasts until the
 * cluster's policy changes.
 */
final class QosFollower implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(QosFollower.class);
    private static final long RETRY_NS = TimeUnit.MILLISECONDS.toNanos(500);

    private final QosRecord record;
    private final QosService qos;
    private final Duration deadline;
    private final Thread thread = Thread.ofVirtual().name("lite-qos-follow").unstarted(this::run);

    @GuardedBy("this")
    private boolean changed;

    private volatile boolean closed;
    private volatile long revision;
    private volatile String trouble = "";

    QosFollower(ClusterDirectory directory, QosService qos, Duration deadline) {
        this.record = new QosRecord(directory);
        this.qos = qos;
        this.deadline = deadline;
    }

    void start() {
        thread.start();
        record.watch(this::changed);
    }

    private synchronized void changed() {
        changed = true;
        notifyAll();
    }

    /** The number of the last change that was followed, or refused by this node. */
    long revision() {
        return revision;
    }

    /** Why the cluster's policy is not followed; empty if it is. */
    String trouble() {
        return trouble;
    }

    private void run() {
        try {
            while (awaitChange()) {
                while (!closed && !tryFollow()) {
                    Polling.sleepNs(RETRY_NS);
                }
            }
        } catch (InterruptedException e) {
            log.debug("the node closes");
        }
    }

    private synchronized boolean awaitChange() throws InterruptedException {
        while (!changed && !closed) {
            wait();
        }
        changed = false;
        return !closed;
    }

    private boolean tryFollow() {
        try {
            return follow();
        } catch (RuntimeException | Error e) { // without this thread the node would follow no later policy
            Unrecoverable.report(e);
            log.error("following the cluster's policy for quality of service failed; trying again", e);
            return false;
        }
    }

    /** False if the policy could not be read. */
    private boolean follow() {
        QosRecord.Revision found;
        try {
            found = record.read(deadline);
        } catch (LiteException away) {
            log.debug("the cluster's policy for quality of service cannot be read: {}", away.getMessage());
            return false;
        }
        if (found.revision() == revision) {
            return true;
        }
        try {
            qos.set(found.policy());
            trouble = "";
        } catch (IllegalArgumentException cannot) {
            trouble = "the policy %d of the cluster: %s".formatted(found.revision(), cannot.getMessage());
            log.warn("this node keeps its policy for quality of service: {}", trouble);
        }
        revision = found.revision();
        return true;
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        changed();
    }
}
