package dev.lite.tier.sync;

import dev.lite.api.LiteException;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports to a lock's home that tries of this node find the lock taken. A try leaves no ticket in the queue, so without
 * a report the home would never check whether somebody still holds the lock. Any thread; does not block.
 *
 * <p>Limit: one report per {@value #APART_MS} ms. The home limits its audits as well.
 */
final class TakenReports {
    private static final Logger log = LoggerFactory.getLogger(TakenReports.class);
    private static final long APART_MS = 100;
    private static final long APART_NS = TimeUnit.MILLISECONDS.toNanos(APART_MS);
    private static final Duration CALL = Duration.ofSeconds(2);

    private final SyncWord word;
    private final SyncCalls calls;
    private final Executor executor;
    private final AtomicLong lastNs = new AtomicLong(System.nanoTime() - APART_NS);

    TakenReports(SyncWord word, SyncCalls calls, Executor executor) {
        this.word = word;
        this.calls = calls;
        this.executor = executor;
    }

    /** Reports it, unless the last report is too recent. */
    void report() {
        long nowNs = System.nanoTime();
        long last = lastNs.get();
        if (nowNs - last < APART_NS || !lastNs.compareAndSet(last, nowNs)) {
            return;
        }
        try {
            executor.execute(() -> {
                try {
                    calls.taken(word.ref(), Deadline.in(CALL));
                } catch (LiteException e) {
                    log.debug("lock {}: a later try will report it: {}", word.ref(), e.getMessage());
                }
            });
        } catch (RejectedExecutionException e) {
            log.debug("lock {}: the node stops", word.ref());
        }
    }
}
