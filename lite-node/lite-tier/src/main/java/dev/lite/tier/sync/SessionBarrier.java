package dev.lite.tier.sync;

import dev.lite.api.LmrFreedException;
import dev.lite.api.LtBarrier;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;

/**
 * A barrier as one session uses it. If nobody used the barrier for a while, its home removed its word, or its session gave it up.
 * The operation that finds that out opens the barrier by its name again and continues with the new word. Any thread.
 */
final class SessionBarrier implements LtBarrier {
    private final SessionSync session;
    private final int parties;

    /** Replaced when its word is dead, or when it was given up. */
    private volatile BarrierUser barrier;

    SessionBarrier(SessionSync session, BarrierUser barrier, int parties) {
        this.session = session;
        this.barrier = barrier;
        this.parties = parties;
    }

    @Override
    public String name() {
        return barrier.name();
    }

    @Override
    public int parties() {
        return parties;
    }

    @Override
    public long await(Duration timeout) {
        Deadline deadline = Deadline.in(SessionSync.positive(timeout));
        BarrierUser now = barrier;
        while (true) {
            try {
                return now.barrier().await(now, parties, deadline);
            } catch (LmrFreedException e) {
                now = session.reopen(now, deadline);
                barrier = now;
            } catch (GivenUpException e) {
                now = session.useBarrier(now.name(), deadline);
                barrier = now;
            }
        }
    }

    @Override
    public String toString() {
        return "LtBarrier[%s, %d parties]".formatted(name(), parties);
    }
}
