package dev.lite.session.async;

import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Lets a thread that waits for an asynchronous operation poll for the end of operations itself, instead of blocking. */
@FunctionalInterface
public interface PollingHelp {
    /**
     * A wait of the current thread, which is a platform thread.
     *
     * @param over whether the wait may end; a few volatile reads
     * @return null: there is nothing to poll
     */
    @Nullable
    Wait newWait(BooleanSupplier over);

    /** A wait of one thread. */
    interface Wait {
        /**
         * Waits until it may end, until the deadline, or until the thread is interrupted.
         *
         * @param deadlineNs a time of {@link System#nanoTime}
         */
        void await(long deadlineNs);

        /** The wait may end now. Any thread; does not block. */
        void signal();
    }
}
