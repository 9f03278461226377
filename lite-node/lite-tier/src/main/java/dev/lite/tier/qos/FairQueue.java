package dev.lite.tier.qos;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.os.waiting.Deadline;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Operations that wait for room, in a fair order: the application that was served the fewest bytes goes next, whatever the
 * number of its threads or the size of its operations. Each application has a clock of the bytes that it was served. One
 * that returns continues at most {@value #CREDIT_BYTES} bytes behind the others, so that it can use up what it missed for a
 * moment, but saves nothing up.
 *
 * <p>An operation that is longer than a {@linkplain Room#piece piece} takes its room piece by piece, each in its turn, so that no
 * other waits longer than for a piece. It begins with its first piece, and its application owes the rest, unless another one
 * is in debt: then it begins when it has all pieces, or when that debt is paid. So no more than one operation at a time is ahead of
 * its room. A debt outlives its application: otherwise one that returned would never pay.
 *
 * <p>Any thread. Bound: a waiting operation is a waiting thread; a clock for each application until {@link #forget}; one debt.
 */
final class FairQueue {
    private static final long CREDIT_BYTES = 256 << 10;

    /** Where operations go. All methods are called with the lock of the queue held, and must not block. */
    interface Room {
        /** Takes the room of an operation, or of a piece of it, if there is some. */
        boolean take(long cost);

        /** The most that is taken at a time. Without pieces, an operation takes all of its room at once. */
        default long piece() {
            return Long.MAX_VALUE;
        }

        /** Takes back what was taken for an operation that did not begin. Only of a room with pieces. */
        default void giveBack(long cost) {
            throw new UnsupportedOperationException("a room without pieces");
        }
    }

    /** An operation that waits. */
    static final class Ticket {
        private final Clock clock;
        private final long cost;
        private final Thread thread;
        private long taken; // guarded by the queue
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
        private long owed;
        // Without memory for one more ticket, it keeps those that it has; an ArrayDeque loses them.
        private final Queue<Ticket> tickets = new ConcurrentLinkedQueue<>();
    }

    private final Room room;

    @GuardedBy("this")
    private final Map<Object, Clock> clocks = new HashMap<>();

    /** The clocks with tickets, and the debtor, for which there is always room: see {@link #tryEnter}. */
    @GuardedBy("this")
    private final List<Clock> waiting = new ArrayList<>(1);

    /** The clock that owes something. */
    @GuardedBy("this")
    private @Nullable Clock debtor;

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
        if (!empty) {
            return false;
        }
        Clock clock =
                clock(application); // before the room, which nobody would give back: there may be no memory for it
        long first = Math.min(cost, room.piece());
        if (!room.take(first)) {
            return false;
        }
        serve(clock, first); // nobody is in debt
        if (first < cost) {
            owe(clock, cost - first);
            waiting.add(clock);
            empty = false;
            pump();
        }
        return true;
    }

    /** Queues an operation of the calling thread; it may be granted at once. If this throws, it is not queued. */
    synchronized Ticket enter(Object application, long cost) {
        Clock clock = clock(application);
        Ticket ticket = new Ticket(clock, cost, Thread.currentThread());
        try {
            add(clock, ticket);
            pump();
        } catch (RuntimeException | Error e) { // for example no memory: nobody waits for the ticket
            boolean unused = remove(ticket);
            if (!ticket.granted) {
                throw e;
            }
        }
        return ticket;
    }

    @GuardedBy("this")
    private void add(Clock clock, Ticket ticket) {
        boolean first = !isWaiting(clock);
        clock.tickets.add(ticket);
        if (first) {
            clock.served = Math.max(clock.served, now - CREDIT_BYTES);
            waiting.add(clock);
        }
        empty = false;
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
        if (!remove(ticket)) {
            return false;
        }
        if (ticket.taken > 0) {
            pump();
        }
        return true;
    }

    /** Removes a ticket and gives back what was taken for it; false if it is not in the queue. */
    @GuardedBy("this")
    private boolean remove(Ticket ticket) {
        if (!ticket.clock.tickets.remove(ticket)) {
            return false;
        }
        if (!isWaiting(ticket.clock)) {
            waiting.remove(ticket.clock);
            empty = waiting.isEmpty();
        }
        if (ticket.taken > 0) {
            ticket.clock.served -= ticket.taken;
            room.giveBack(ticket.taken);
        }
        return true;
    }

    /** Gives back what was taken for an operation that did not begin: first what it still owes. */
    synchronized void giveBack(Object application, long cost) {
        Clock clock = clock(application);
        long unpaid = Math.min(clock.owed, cost);
        if (unpaid > 0) {
            pay(clock, unpaid);
            if (!isWaiting(clock)) {
                waiting.remove(clock);
                empty = waiting.isEmpty();
            }
        }
        clock.served -= cost - unpaid;
        room.giveBack(cost - unpaid);
        pump();
    }

    /** Grants what there is room for; call it when there is more room. */
    synchronized void pump() {
        Clock next;
        while ((next = furthestBehind()) != null) {
            if (!takeTurn(next)) {
                return;
            }
            if (!isWaiting(next)) {
                waiting.remove(next);
            }
        }
        empty = true;
    }

    /** Takes one piece for an application that waits; false: there is no room. */
    @GuardedBy("this")
    private boolean takeTurn(Clock clock) {
        Ticket ticket = clock.owed > 0 ? null : clock.tickets.element();
        long wanted = ticket == null ? clock.owed : ticket.cost - ticket.taken;
        long some = Math.min(wanted, room.piece());
        if (!room.take(some)) {
            return false;
        }
        serve(clock, some);
        if (ticket == null) {
            pay(clock, some);
            return true;
        }
        ticket.taken += some;
        if (some == wanted || debtor == null) {
            clock.tickets.remove();
            if (some < wanted) {
                owe(clock, wanted - some);
            }
            ticket.granted = true;
            LockSupport.unpark(ticket.thread);
        }
        return true;
    }

    @GuardedBy("this")
    private void owe(Clock clock, long cost) {
        clock.owed = cost;
        debtor = clock;
    }

    @GuardedBy("this")
    private void pay(Clock clock, long cost) {
        clock.owed -= cost;
        if (clock.owed == 0) {
            debtor = null;
        }
    }

    private static boolean isWaiting(Clock clock) {
        return clock.owed > 0 || !clock.tickets.isEmpty();
    }

    @GuardedBy("this")
    private @Nullable Clock furthestBehind() {
        Clock first = null;
        for (int i = 0; i < waiting.size(); i++) { // without an iterator: to give room back must need no memory
            Clock clock = waiting.get(i);
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

    /** The application has ended. What it still has in the queue continues, and so does its debt. */
    synchronized void forget(Object application) {
        clocks.remove(application);
    }
}
