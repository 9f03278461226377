package dev.lite.node;

import dev.lite.os.waiting.Unrecoverable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the node's process when it cannot be a node any more: it has no memory left, its arena was truncated, or one of its own
 * threads has ended by a failure. Otherwise it would stay a member of the cluster that answers nothing. It does not move its memory
 * away: the next process adopts the arena. Any thread.
 */
final class LastResort implements Thread.UncaughtExceptionHandler {
    /** The exit status, as with the JVM's option ExitOnOutOfMemoryError. */
    static final int STATUS = 3;

    private static final Logger log = LoggerFactory.getLogger(LastResort.class);
    private static final String OWN_THREADS = "lite-";
    private static final int RESERVE_BYTES = 1 << 20;

    private final IntConsumer halt;
    private final AtomicBoolean ending = new AtomicBoolean();
    /** Freed before the end, so that there is memory for the last line. */
    @SuppressWarnings("UnusedVariable")
    private byte @Nullable [] reserve = new byte[RESERVE_BYTES];

    /** @param halt ends the process with a status; does not return */
    LastResort(IntConsumer halt) {
        this.halt = halt;
    }

    /** Makes it the handler of this process. */
    static void install() {
        Thread.setDefaultUncaughtExceptionHandler(
                new LastResort(status -> Runtime.getRuntime().halt(status)));
    }

    @Override
    public void uncaughtException(Thread thread, Throwable failure) {
        boolean unrecoverable = Unrecoverable.is(failure);
        if (!unrecoverable && (thread.isVirtual() || !thread.getName().startsWith(OWN_THREADS))) {
            log.error("the thread {} failed", thread.getName(), failure);
            return;
        }
        if (!ending.compareAndSet(false, true)) {
            return; // another thread ends the process
        }
        reserve = null;
        try {
            String what = unrecoverable
                    ? failure.toString()
                    : "its thread %s failed: %s".formatted(thread.getName(), failure);
            log.error("the node ends at once and must be started again; its memory stays in its arena: {}", what);
        } finally {
            halt.accept(STATUS);
        }
    }
}
