package dev.lite.api;

import java.time.Duration;

/** A barrier across the cluster. It may be used again as soon as it was passed. Any thread. */
public interface LtBarrier {
    /** The barrier's name. */
    String name();

    /** How many have to arrive. */
    int parties();

    /**
     * {@code LT_barrier}: arrives and waits for the others. Each call is one party: threads of one session may be several.
     *
     * @return the number of this round, from 0 on, the same at all parties
     * @throws BarrierBrokenException when a party died, or gave up at its deadline, before all had arrived; whoever comes
     *     afterwards begins a new round
     * @throws LiteTimeoutException when the others had not arrived until the deadline; the round is broken for them
     * @throws SessionLostException when the session has ended; the round is broken for the others
     */
    long await(Duration deadline);
}
