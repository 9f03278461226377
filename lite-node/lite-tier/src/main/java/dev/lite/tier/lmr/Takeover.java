package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finishes the unfinished work of fenced nodes: completes the freeing of LMRs and undoes moves of fenced movers. The
 * live node with the lowest id scans the records after each fence. Every change of a record is a compare-and-set, and
 * freeing memory twice has no effect. So two nodes may do the same work, and the node that began it may continue. Any
 * thread.
 */
final class Takeover {
    private static final Logger log = LoggerFactory.getLogger(Takeover.class);
    private static final Duration CALL = Duration.ofSeconds(5);

    /** The time for a scan of all records: 100,000 take some seconds. */
    private static final Duration SCAN_TIMEOUT = Duration.ofMinutes(2);

    private final int self;
    private final ClusterDirectory directory;
    private final NamedLmrs named;
    private final Masters masters;
    private final Reclaimer reclaimer;
    private final Executor executor;
    private final AtomicInteger wanted = new AtomicInteger();

    Takeover(
            int self,
            ClusterDirectory directory,
            NamedLmrs named,
            Masters masters,
            Reclaimer reclaimer,
            Executor executor) {
        this.self = self;
        this.directory = directory;
        this.named = named;
        this.masters = masters;
        this.reclaimer = reclaimer;
        this.executor = executor;
    }

    /** Schedules a scan of the records after a fence. Calls before the scan starts share it. Does not block. */
    void begin() {
        if (wanted.getAndIncrement() > 0) {
            return; // the running scan repeats
        }
        try {
            executor.execute(this::run);
        } catch (RejectedExecutionException e) {
            log.debug("no takeover: the node stops");
        }
    }

    private void run() {
        int seen;
        do {
            seen = wanted.get();
            try {
                if (isFirst()) {
                    scanRecords();
                }
            } catch (LiteException e) {
                log.info("the takeover of fenced nodes' work waits for the next fence: {}", e.getMessage());
            } catch (RejectedExecutionException e) {
                log.debug("the takeover of fenced nodes' work ends: the node stops");
            } catch (RuntimeException | Error e) { // the next fence must find no takeover under way
                Unrecoverable.report(e);
                log.error("the takeover of fenced nodes' work failed", e);
            }
        } while (!wanted.compareAndSet(seen, 0));
    }

    private boolean isFirst() {
        return directory.nodesNow(CALL).stream().mapToInt(NodeRecord::id).min().orElse(self) == self;
    }

    private void scanRecords() {
        Deadline deadline = Deadline.in(SCAN_TIMEOUT);
        named.find(lmr -> lmr.state() != LmrRecord.State.LIVE, deadline)
                .values()
                .forEach(found -> {
                    LmrRecord lmr = found.lmr();
                    if (lmr.state() == LmrRecord.State.FREEING) {
                        reclaimer.takeOver(found.name(), lmr);
                    } else {
                        masters.undoIfAbandoned(found.name(), lmr.id(), deadline);
                    }
                });
    }
}
