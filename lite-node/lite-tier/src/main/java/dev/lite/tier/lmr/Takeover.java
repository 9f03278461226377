package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
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

    private static final long LOOK_NS = 100_000_000;
    private static final long RETRY_NS_MIN = 1_000_000_000;
    private static final long RETRY_NS_MAX = 30_000_000_000L;

    private final int self;
    private final ClusterDirectory directory;
    private final NamedLmrs named;
    private final UnfinishedMoves unfinishedMoves;
    private final Reclaimer reclaimer;
    private final Executor executor;
    private final AtomicInteger wanted = new AtomicInteger();

    Takeover(
            int self,
            ClusterDirectory directory,
            NamedLmrs named,
            UnfinishedMoves unfinishedMoves,
            Reclaimer reclaimer,
            Executor executor) {
        this.self = self;
        this.directory = directory;
        this.named = named;
        this.unfinishedMoves = unfinishedMoves;
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
        long pauseNs = RETRY_NS_MIN;
        while (true) {
            int seen = wanted.get();
            if (attempt()) {
                if (wanted.compareAndSet(seen, 0)) {
                    return;
                }
                continue;
            }
            Thread thread = Thread.currentThread();
            Deadline next = Deadline.in(Duration.ofNanos(pauseNs)); // or at the next fence
            boolean unused = Polling.until(() -> wanted.get() != seen || thread.isInterrupted(), next, LOOK_NS);
            if (thread.isInterrupted()) {
                return; // this node stops
            }
            pauseNs = Math.min(2 * pauseNs, RETRY_NS_MAX);
        }
    }

    /** Takes over what can be taken over now; returns whether that was all. The next fence may never come, so the rest is tried again. */
    private boolean attempt() {
        try {
            return !isFirst() || scanRecords();
        } catch (LiteException e) {
            log.info("the takeover of fenced nodes' work is tried again: {}", e.getMessage());
        } catch (RejectedExecutionException e) {
            log.debug("the takeover of fenced nodes' work ends: the node stops");
            return true;
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            log.error("the takeover of fenced nodes' work failed; it is tried again", e);
        }
        return false;
    }

    private boolean isFirst() {
        return directory.nodesNow(CALL).stream().mapToInt(NodeRecord::id).min().orElse(self) == self;
    }

    /** Returns whether all was taken over; one LMR does not keep the others from it. */
    private boolean scanRecords() {
        NamedLmrs.Scan records =
                named.findReadable(lmr -> lmr.state() != LmrRecord.State.LIVE, Deadline.in(SCAN_TIMEOUT));
        boolean all = records.unreadable().isEmpty();
        for (NamedLmrs.Named found : records.lmrs().values()) {
            LmrRecord lmr = found.lmr();
            if (lmr.state() == LmrRecord.State.FREEING) {
                reclaimer.takeOver(found.name(), lmr);
                continue;
            }
            try {
                unfinishedMoves.undoIfAbandoned(found.name(), lmr.id(), Deadline.in(CALL));
            } catch (LiteException e) {
                log.info("the move of lmr={} cannot be undone now: {}", lmr.id(), e.getMessage());
                all = false;
            }
        }
        return all;
    }
}
