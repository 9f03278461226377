package dev.lite.tier.sync;

import dev.lite.api.LiteException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.sync.WordStore.Named;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the homes of words that this node no longer uses them. A report that is lost does no harm: the home finds unused
 * words itself from time to time. Any thread; does not block.
 *
 * <p>Limit: {@value #WAITING_MAX} reports wait; further ones are dropped.
 */
final class LeftWords {
    private static final Logger log = LoggerFactory.getLogger(LeftWords.class);
    private static final int WAITING_MAX = 65_536;
    private static final Duration CALL = Duration.ofSeconds(2);

    private final SyncCalls calls;
    private final Executor executor;
    private final ConcurrentLinkedQueue<Named> queue = new ConcurrentLinkedQueue<>();
    private final AtomicInteger waiting = new AtomicInteger();

    LeftWords(SyncCalls calls, Executor executor) {
        this.calls = calls;
        this.executor = executor;
    }

    /** Reports that this node no longer uses a word. */
    void report(Named word) {
        if (waiting.get() >= WAITING_MAX) {
            return;
        }
        queue.add(word);
        if (waiting.getAndIncrement() == 0) {
            boolean started = false;
            try {
                executor.execute(this::sendAll);
                started = true;
            } catch (RejectedExecutionException e) {
                log.debug("the word {} is not reported: the node stops", word.ref());
            } finally {
                if (!started) { // for example, no memory for a thread: the next report starts one
                    dropAll();
                }
            }
        }
    }

    private void dropAll() {
        int dropped;
        do {
            dropped = 0;
            while (queue.poll() != null) {
                dropped++;
            }
        } while (waiting.addAndGet(-dropped) > 0);
    }

    /** Whether reports wait. */
    boolean isSending() {
        return waiting.get() > 0;
    }

    private void sendAll() {
        Set<Integer> silent = new HashSet<>(); // so that one node does not delay the reports to others
        int sent;
        do {
            sent = 0;
            for (Named word = queue.poll(); word != null; word = queue.poll()) {
                sent++;
                try {
                    if (!silent.contains(word.ref().home())) {
                        calls.left(word, Deadline.in(CALL));
                    }
                } catch (LiteException e) {
                    silent.add(word.ref().home());
                    log.debug("the home does not know that the word {} is unused: {}", word.ref(), e.getMessage());
                } catch (RuntimeException | Error e) { // the next report must not wait for ever
                    Unrecoverable.report(e);
                    log.error("reporting the unused word {} failed; continuing", word.ref(), e);
                }
            }
        } while (waiting.addAndGet(-sent) > 0);
    }
}
