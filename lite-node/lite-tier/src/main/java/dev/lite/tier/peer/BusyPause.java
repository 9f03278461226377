package dev.lite.tier.peer;

import dev.lite.os.waiting.Polling;

/**
 * The pauses of a thread that posts again and again to a busy connection. Each is twice as long as the last one,
 * up to a millisecond: many threads may wait for a connection that is busy for long, as that of a node that is
 * paused. One thread, one wait.
 */
public final class BusyPause {
    private static final long NS_MIN = 20_000;
    private static final long NS_MAX = 1_000_000;

    private long ns = NS_MIN;

    /** The first pause is next. */
    public BusyPause() {}

    /** Pauses. An interrupt does not end it, and is kept: the thread decides whether it posts again. */
    public void pause() {
        Polling.sleepThroughNs(ns);
        ns = Math.min(2 * ns, NS_MAX);
    }
}
