package dev.lite.session.async;

import java.util.concurrent.Future;

/** What a thread that will block until an asynchronous operation ends does first: it sees to it itself for a while. */
@FunctionalInterface
public interface WaitingHelp {
    /** Does nothing. */
    WaitingHelp NONE = (awaited, deadlineNs) -> {};

    /**
     * Returns when the future is done, and otherwise after some hundred microseconds at most without work. The thread may complete
     * other futures on which nothing depends.
     *
     * @param deadlineNs when to return at the latest, of {@link System#nanoTime}
     */
    void help(Future<?> awaited, long deadlineNs);
}
