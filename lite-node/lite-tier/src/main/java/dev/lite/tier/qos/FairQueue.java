package dev.lite.tier.qos;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.os.waiting.Deadline;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Operations that wait for room, in a fair order: the application that was served the fewest bytes goes next, whatever the
 * number of its threads or the size of its operations. Each application has a clock of the bytes that it was served. One
 * that returns continues at most {@value #CREDIT_BYTES} bytes behind the others, so that it can use up what it missed for a
 * moment, but saves nothing up.
 *
 * <p>Any thread. Bound: a waiting operation is a waiting thread; a clock for each application until {@link #forget}.
 */
final class FairQueue {
    private static final long CREDIT_BYTES = 256 << 10;

    /** Where operations go. */
    interface Room {
        /** Takes the room of an operation if there is some. Called with the lock of the queue held; must not block. */
        boolean take(long cost);
    }

    /** An operation that waits. */
    static final class Ticket {
        private final Clock clock;
        private final long cost;
        private final Thread thread;
        private volatile boolean granted;

        private Ticket(Clock clock, long cost, Thread thread) {
            this.clock = clock;
            this.cost = cost;
            this.thread = thread;
        }

        boolean isGranted() {
            return granted;
        }
    }

    private static final class Clock {
        private long served;
        private long round;
        private final ArrayDeque<Ticket> tickets = new ArrayDeque<>();
    }

    private final Room room;

    @GuardedBy("this")
    private final Map<Object, Clock> clocks = new HashMap<>();

    /** The clocks with tickets. */
    @GuardedBy("this")
    private final List<Clock> waiting = new ArrayList<>();

    /** The clock of the last served operation, before it was served. */
    @GuardedBy("this")
    private long now;

    /** Rounds of {@link #takeActive}, and the applications that were served in this one. */
    @GuardedBy("this")
    private long round = 1;

    @GuardedBy("this")
    private int active;

    private volatile boolean empty = true;

    FairQueue(Room room) {
        this.room = room;
    }

    /** Whether nobody waits. */
    boolean isEmpty() {
        return empty;
    }

    /** Takes the room if there is some and nobody waits for it. */
    synchronized boolean tryEnter(Object application, long cost) {
        if (!empty || !room.take(cost)) {
            return false;
        }
        serve(clock(application), cost);
        return true;
    }

    /** Queues an operation of the calling thread; it may be granted at once. */
    synchronized Ticket enter(Object application, long cost) {
        Clock clock = clock(application);
        Ticket ticket = new Ticket(clock, cost, Thread.currentThread());
        if (clock.tickets.isEmpty()) {
            clock.served = Math.max(clock.served, now - CREDIT_BYTES);
            waiting.add(clock);
        }
        clock.tickets.add(ticket);
        empty = false;
        pump();
        return ticket;
    }

    /**
     * Waits until the ticket of this thread is granted.
     *
     * @return false, and the ticket is withdrawn, if it was not granted until the deadline or the thread was interrupted
     */
    boolean await(Ticket ticket, Deadline deadline) {
        while (!ticket.granted) {
            long remaining = deadline.remainingNs();
            if (remaining == 0 || Thread.currentThread().isInterrupted()) {
                return !withdraw(ticket);
            }
            LockSupport.parkNanos(this, remaining);
        }
        return true;
    }

    /** Withdraws a ticket; false if it was granted meanwhile. */
    private synchronized boolean withdraw(Ticket ticket) {
        if (!ticket.clock.tickets.remove(ticket)) {
            return false;
        }
        if (ticket.clock.tickets.isEmpty()) {
            waiting.remove(ticket.clock);
            empty = waiting.isEmpty();
        }
        return true;
    }

    /** Grants what there is room for; call it when there is more room. */
    synchronized void pump() {
        Clock next;
        while ((next = furthestBehind()) != null) {
            Ticket ticket = next.tickets.element();
            if (!room.take(ticket.cost)) {
                return;
            }
            next.tickets.remove();
            if (next.tickets.isEmpty()) {
                waiting.remove(next);
            }
            serve(next, ticket.cost);
            ticket.granted = true;
            LockSupport.unpark(ticket.thread);
        }
        empty = true;
    }

    @GuardedBy("this")
    private @Nullable Clock furthestBehind() {
        Clock first = null;
        for (Clock clock : waiting) {
            if (first == null || clock.served < first.served) {
                first = clock;
            }
        }
        return first;
    }

    @GuardedBy("this")
    private void serve(Clock clock, long cost) {
        if (clock.round != round) {
            clock.round = round;
            active++;
        }
        now = Math.max(now, clock.served);
        clock.served = Math.max(clock.served, now - CREDIT_BYTES) + cost;
    }

    @GuardedBy("this")
    private Clock clock(Object application) {
        Clock known = clocks.get(application);
        if (known != null) {
            return known;
        }
        Clock clock = new Clock();
        clock.served = now;
        // An operation of a closed session may still come here; nobody forgets that session again.
        if (!(application instanceof SessionQos session) || !session.isClosed()) {
            clocks.put(application, clock);
        }
        return clock;
    }

    /** How many applications were served since the last call. */
    synchronized int takeActive() {
        int count = active;
        active = 0;
        round++;
        return count;
    }

    /** The application has ended. What it still has in the queue continues. */
    synchronized void forget(Object application) {
        clocks.remove(application);
    }
}
