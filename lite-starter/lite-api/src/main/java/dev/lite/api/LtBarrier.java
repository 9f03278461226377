package dev.lite.api;

import java.time.Duration;

/** A barrier across the cluster (paper §7.2). It is reusable: each completed round starts the next. Any thread. */
public interface LtBarrier {
    /** The barrier's name. */
    String name();

    /** How many parties a round needs. */
    int parties();

    /**
     * {@code LT_barrier}: arrives at the barrier and waits until all parties of the round have arrived. Every call counts as one
     * party, so several threads of one session are several parties. The session of an attached application has at most 1,024 waits for
     * locks and barriers under way; further ones wait for a place, up to their deadlines.
     *
     * @return the number of the round; the same for all parties. Numbers start at 0. After no session has used the barrier for a
     *     minute, they start at 0 again
     * @throws BarrierBrokenException when another party died or reached its deadline before all had arrived; the next call starts a
     *     new round
     * @throws LiteTimeoutException when the deadline passed first; the round is broken for the other parties
     * @throws SessionLostException when the session has ended; the round is broken for the other parties
     */
    long await(Duration deadline);
}
