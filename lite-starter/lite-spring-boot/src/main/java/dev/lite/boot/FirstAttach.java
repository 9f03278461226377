package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.NodeUnreachableException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/** Attaches at the start of an application, and may wait for a node that is not there yet. One thread. */
final class FirstAttach {

    private static final Log log = LogFactory.getLog(FirstAttach.class);
    private static final long PAUSE_NS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long PAUSE_NS_MAX = TimeUnit.SECONDS.toNanos(1);

    /** A longer one has too many nanoseconds to be added to a time. */
    private static final Duration WAIT_MAX = Duration.ofDays(365);

    private final AttachOptions options;
    private final Duration wait;

    /** @param wait how long to wait for the node; zero: a single attempt */
    FirstAttach(AttachOptions options, Duration wait) {
        this.options = options;
        this.wait = wait.compareTo(WAIT_MAX) < 0 ? wait : WAIT_MAX;
    }

    /**
     * Attaches. A node that refuses the application, or does not answer it, is not waited for.
     *
     * @throws LiteAttachFailedException when that was not possible
     */
    Lite attach() {
        long endNs = System.nanoTime() + wait.toNanos();
        long pauseNs = PAUSE_NS_MIN;
        while (true) {
            try {
                return Lite.attach(options);
            } catch (NodeUnreachableException e) {
                long leftNs = endNs - System.nanoTime();
                if (leftNs <= 0 || Thread.currentThread().isInterrupted()) {
                    throw new LiteAttachFailedException(options.socket(), e);
                }
                if (pauseNs == PAUSE_NS_MIN) {
                    log.info("Not attached to the LITE node at %s yet; waiting up to %d s: %s"
                            .formatted(options.socket(), wait.toSeconds(), e.getMessage()));
                }
                pause(Math.min(pauseNs, leftNs));
                pauseNs = Math.min(2 * pauseNs, PAUSE_NS_MAX);
            } catch (RuntimeException e) {
                throw new LiteAttachFailedException(options.socket(), e);
            }
        }
    }

    /** An interrupt ends the pause, and is kept. */
    private static void pause(long ns) {
        try {
            TimeUnit.NANOSECONDS.sleep(ns);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
