package dev.lite.tier.sync;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The tries of one node to take a lock that are under way. When the home asks who claims a ticket, the ticket was drawn
 * before the question. So only tries that began before the question can have drawn it. Later ones do not matter: a node that
 * tries all the time does not keep the lock from being passed on.
 *
 * <p>Tries count in one of two halves. The first question about a ticket makes new tries count in the other half. Any
 * thread; no thread waits.
 */
final class Tries {
    private final AtomicInteger[] halves = {new AtomicInteger(), new AtomicInteger()};
    private volatile int current; // the half of tries that begin now; written under the monitor

    @GuardedBy("this")
    private long asked = -1; // the ticket of the last question

    @GuardedBy("this")
    private boolean switched; // since the first question about it

    /** A try begins. Returns the half for {@link #end}. */
    int begin() {
        int half = current;
        halves[half].incrementAndGet();
        return half;
    }

    /** A try has ended, and its hold is recorded. */
    void end(int half) {
        halves[half].decrementAndGet();
    }

    /** Whether any try is under way. */
    boolean areUnderWay() {
        return halves[0].get() + halves[1].get() > 0;
    }

    /** Whether a try may have drawn this ticket and not recorded it yet. The home repeats its question then. */
    synchronized boolean mayHaveDrawn(long ticket) {
        if (!areUnderWay()) {
            return false;
        }
        if (asked != ticket) {
            asked = ticket;
            switched = false;
        }
        int other = 1 - current;
        if (!switched) {
            if (halves[other].get() == 0) {
                current = other;
                switched = true;
            }
            return true;
        }
        return halves[other].get() > 0;
    }
}
