package dev.lite.tier.sync;

import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.tier.Deadline;
import dev.lite.tier.sync.SyncCalls.Claim;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lock as one node sees it: the tickets that were drawn here. The word decides who holds the lock; this object knows for
 * which tickets somebody here still cares, and says so when the home asks ({@link #turn}). A ticket that nobody claims is
 * passed over by the home: so nothing has to be undone, whatever goes wrong with a draw, a wait or a release.
 *
 * <p><b>Uncontended.</b> One compare-and-set here, which makes the draw known before it happens; one atomic addition to the
 * word; later one compare-and-set of the word to release it. No lock, no map, one object. The one place for it ({@link
 * #fast}) is enough, since a lock has one holder. Everybody else goes the way beside it, under this object's monitor; they
 * have to wait anyway.
 *
 * <p>Bound: {@value #TICKETS_MAX} tickets, given-up ones that are still in the queue included.
 */
final class NodeLock {
    /** How many tickets a node may have in a lock's queue: 1,024 nodes × 1,001 (one more beside them) are below 2²⁰. */
    static final int TICKETS_MAX = 1000;

    private static final Logger log = LoggerFactory.getLogger(NodeLock.class);

    /** A waiter tells the home again that it waits, in case the home was restarted. */
    private static final Duration QUEUE_AGAIN = Duration.ofSeconds(2);

    private static final long QUEUE_RETRY_NS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long DRAW_PAUSE_NS = 50_000;
    private static final int TRIES = 16;
    private static final VarHandle FAST;

    static {
        try {
            FAST = MethodHandles.lookup().findVarHandle(NodeLock.class, "fast", Hold.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final String name;
    private final SyncWord word;
    private final SyncCalls calls;
    private final SyncCounters counters;

    /** The acquisition on the short way: drawing, or holding. */
    private volatile @Nullable Hold fast;

    /** The word after the last release from here, a guess for {@link #tryAcquire}; racy. */
    private long freeWord;

    // Guarded by this.
    private final Map<Long, Hold> claims = new HashMap<>(); // beside the short way: waiting, or holding
    private final TreeSet<Long> givenUp = new TreeSet<>(); // in the queue, and nobody wants them
    private int drawing;

    /** The tickets beside the short way; changed under the monitor, read without. */
    private volatile int tickets;

    NodeLock(String name, SyncWord word, SyncCalls calls, SyncCounters counters) {
        this.name = name;
        this.word = word;
        this.calls = calls;
        this.counters = counters;
    }

    String name() {
        return name;
    }

    SyncWord word() {
        return word;
    }

    HeldLock acquire(SessionSync session, Duration patience) {
        Hold hold = new Hold(this, session);
        if (tickets != 0 || !FAST.compareAndSet(this, null, hold)) {
            return acquireBeside(hold, Deadline.in(patience));
        }
        Deadline deadline = word.deadline(patience);
        boolean held = false;
        try {
            // After the compare-and-set: the session's end sees this hold, or is seen here.
            session.requireOpen();
            long before = word.fetchAdd(LockWord.DRAW, deadline);
            hold.ticket = LockWord.next(before);
            if (LockWord.count(before) == 0) {
                hold.setState(Hold.HELD);
                held = true;
                return hold;
            }
            enter(hold, Hold.WAITING);
        } finally {
            if (!held) {
                FAST.setRelease(this, null); // if a ticket was drawn in vain, nobody claims it
            }
        }
        return await(hold, word.mapping() != null ? Deadline.in(patience) : deadline);
    }

    private HeldLock acquireBeside(Hold hold, Deadline deadline) {
        if (takeOver(hold, deadline)) {
            return await(hold, deadline);
        }
        beginDraw(hold.session);
        try {
            long before = word.fetchAdd(LockWord.DRAW, deadline);
            hold.ticket = LockWord.next(before);
            enter(hold, LockWord.count(before) == 0 ? Hold.HELD : Hold.WAITING);
        } finally {
            synchronized (this) {
                drawing--;
                countTickets();
            }
        }
        return hold.state() == Hold.HELD ? hold : await(hold, deadline);
    }

    private synchronized void beginDraw(SessionSync session) {
        session.requireOpen();
        if (tickets >= TICKETS_MAX) {
            throw new LimitExceededException(
                    "lock \"%s\": %d tickets of this node are in its queue, %d of them given up; the limit is %d"
                            .formatted(name, tickets, givenUp.size(), TICKETS_MAX));
        }
        drawing++;
        countTickets();
    }

    /** Claims a ticket. The session's end comes before, and is seen here, or after, and sees the claim. */
    private synchronized void enter(Hold hold, int state) {
        if (!hold.session.isOpen()) {
            hold.setState(Hold.OVER);
            givenUp.add(hold.ticket);
            countTickets();
            throw hold.session.ended();
        }
        hold.waiter = Thread.currentThread();
        hold.setState(state);
        claims.put(hold.ticket, hold);
        countTickets();
    }

    private void countTickets() {
        tickets = claims.size() + givenUp.size() + drawing;
    }

    /**
     * Goes on with a ticket that somebody here gave up, if it is the last in the queue: so who asks again and again with a
     * short deadline keeps its place, and does not fill the queue.
     */
    private boolean takeOver(Hold hold, Deadline deadline) {
        synchronized (this) {
            if (givenUp.isEmpty()) {
                return false;
            }
        }
        long now = word.fetchAdd(0, deadline);
        synchronized (this) {
            hold.session.requireOpen();
            givenUp.headSet(LockWord.turn(now)).clear();
            if (givenUp.isEmpty() || givenUp.last() + 1 != LockWord.next(now)) {
                countTickets();
                return false;
            }
            hold.ticket = givenUp.removeLast();
            enter(hold, Hold.WAITING);
            return true;
        }
    }

    private HeldLock await(Hold hold, Deadline deadline) {
        counters.waited();
        long queueAtNs = System.nanoTime();
        LiteException trouble = null;
        while (hold.state() == Hold.WAITING) {
            if (Thread.interrupted()) {
                Thread.currentThread().interrupt();
                if (giveUp(hold)) {
                    throw new LmrUnavailableException("interrupted while waiting for lock \"%s\"".formatted(name));
                }
                break;
            }
            long leftNs = deadline.remainingNs();
            if (leftNs == 0) {
                if (giveUp(hold)) {
                    throw deadline.exception("waiting for lock \"%s\"%s"
                            .formatted(name, trouble == null ? "" : " (" + trouble.getMessage() + ")"));
                }
                break;
            }
            long untilQueueNs = queueAtNs - System.nanoTime();
            if (untilQueueNs > 0) {
                LockSupport.parkNanos(this, Math.min(leftNs, untilQueueNs));
                continue;
            }
            trouble = queue(hold, deadline);
            queueAtNs = System.nanoTime() + (trouble == null ? QUEUE_AGAIN.toNanos() : QUEUE_RETRY_NS);
        }
        if (hold.state() != Hold.HELD) {
            throw hold.session.ended();
        }
        return hold;
    }

    /** Tells the home that somebody waits; returns what went wrong, if it is worth another try. */
    private @Nullable LiteException queue(Hold hold, Deadline deadline) {
        Deadline ofCall = deadline.remaining().compareTo(QUEUE_AGAIN) > 0 ? Deadline.in(QUEUE_AGAIN) : deadline;
        try {
            switch (calls.queue(word.ref(), hold.ticket, ofCall)) {
                case QUEUED -> {}
                case HELD -> turn(hold.ticket);
                case PASSED -> {
                    if (giveUp(hold)) {
                        throw new LmrUnavailableException(
                                "lock \"%s\": its home took this node for dead and passed ticket %d over"
                                        .formatted(name, hold.ticket));
                    }
                }
            }
            return null;
        } catch (LmrUnavailableException e) {
            giveUp(hold);
            throw e;
        } catch (LiteException e) {
            return e;
        }
    }

    /** Leaves the queue; false when it is not waiting any more. The home passes the ticket over when its turn comes. */
    private synchronized boolean giveUp(Hold hold) {
        if (hold.state() != Hold.WAITING) {
            return false;
        }
        hold.setState(Hold.OVER);
        claims.remove(hold.ticket);
        givenUp.add(hold.ticket);
        countTickets();
        return true;
    }

    Optional<HeldLock> tryAcquire(SessionSync session) {
        Hold hold = new Hold(this, session);
        if (tickets != 0 || !FAST.compareAndSet(this, null, hold)) {
            session.requireOpen();
            return Optional.empty(); // held, drawn or waited for at this very node
        }
        boolean held = false;
        try {
            session.requireOpen();
            Deadline deadline = word.deadline(session.patience());
            long guess = freeWord;
            for (int tries = 0; tries < TRIES && LockWord.count(guess) == 0; tries++) {
                long before = word.testSet(guess, guess + LockWord.DRAW, deadline);
                if (before == guess) {
                    hold.ticket = LockWord.next(guess);
                    hold.setState(Hold.HELD);
                    held = true;
                    return Optional.of(hold);
                }
                guess = before;
            }
            return Optional.empty();
        } finally {
            if (!held) {
                FAST.setRelease(this, null);
            }
        }
    }

    /** Releases; twice at the same time is harmless. When the home cannot be told, it finds out by itself. */
    void release(Hold hold) {
        hold.setState(Hold.OVER);
        try {
            if (!releaseAlone(hold)) {
                calls.release(word.ref(), hold.ticket, Deadline.in(hold.session.patience()));
            }
        } catch (LiteException e) {
            log.info(
                    "lock {}: its home will find out that ticket {} is released: {}",
                    name,
                    hold.ticket,
                    e.getMessage());
        } finally {
            forget(hold);
        }
    }

    /** Releases a lock that nobody waits for; false when somebody does. */
    private boolean releaseAlone(Hold hold) {
        long alone = LockWord.heldAlone(hold.ticket);
        long free = alone + LockWord.PASS;
        if (word.testSet(alone, free, word.deadline(hold.session.patience())) != alone) {
            return false;
        }
        freeWord = free;
        return true;
    }

    private void forget(Hold hold) {
        if (fast == hold) {
            FAST.setRelease(this, null);
            return;
        }
        synchronized (this) {
            claims.remove(hold.ticket, hold);
            countTickets();
        }
    }

    /** The home says that it is this ticket's turn; or asks for it. */
    synchronized Claim turn(long ticket) {
        if (givenUp.remove(ticket)) {
            countTickets();
            return Claim.UNKNOWN;
        }
        Hold hold = claims.get(ticket);
        if (hold == null) {
            return turnFast(ticket);
        }
        if (hold.state() == Hold.WAITING) {
            hold.setState(Hold.HELD);
            counters.wokenUp();
            LockSupport.unpark(hold.waiter);
        }
        return Claim.TAKEN; // also while its release is under way
    }

    private Claim turnFast(long ticket) {
        Hold only = fast;
        if (only != null) {
            if (only.state() == Hold.DRAWING) {
                return Claim.UNDECIDED;
            }
            if (only.ticket == ticket) {
                return Claim.TAKEN; // also while its release is under way
            }
        }
        return drawing > 0 ? Claim.UNDECIDED : Claim.UNKNOWN;
    }

    /** Ends the waits of a session that has ended. */
    synchronized void endWaits(SessionSync session) {
        for (Iterator<Hold> all = claims.values().iterator(); all.hasNext(); ) {
            Hold hold = all.next();
            if (hold.session == session && hold.state() == Hold.WAITING) {
                hold.setState(Hold.OVER);
                all.remove();
                givenUp.add(hold.ticket);
                LockSupport.unpark(hold.waiter);
            }
        }
        countTickets();
    }

    /** Releases what a session holds that has ended. */
    void releaseAll(SessionSync session) {
        endWaits(session);
        Hold only = fast;
        while (only != null && only.session == session && only.state() == Hold.DRAWING) {
            LockSupport.parkNanos(DRAW_PAUSE_NS); // the draw has a deadline
            only = fast;
        }
        if (only != null && only.session == session) {
            only.close();
        }
        List<Hold> held = new ArrayList<>();
        synchronized (this) {
            claims.values().stream().filter(hold -> hold.session == session).forEach(held::add);
        }
        held.forEach(Hold::close);
        endWaits(session);
    }
}
