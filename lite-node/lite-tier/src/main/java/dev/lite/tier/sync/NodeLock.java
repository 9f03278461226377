package dev.lite.tier.sync;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.Mapping;
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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lock as one node sees it: the tickets that were drawn here. The word decides who holds the lock; this object knows for
 * which tickets are still wanted here, and says so when the home asks ({@link #turn}). A ticket that nobody claims is
 * passed over by the home: so nothing has to be undone, whatever goes wrong with a draw, a wait or a release.
 *
 * <p><b>Uncontended</b> and mapped: one atomic addition to the word, later one compare-and-set of the word to release it; no
 * lock, no other atomic operation, no map, one small object. That the ticket holds the lock is noted in {@link #held}, where
 * one place is enough, since a lock has one holder. The note is made within the operation on the mapping, so the home's
 * question, which waits for the operations under way, never falls between the draw and the note. Everybody else goes the way
 * beside it, under this object's monitor; they have to wait anyway, or go through a fabric.
 *
 * <p>Bound: {@value #TICKETS_MAX} tickets, given-up ones that are still in the queue included.
 */
final class NodeLock {
    /**
     * How many tickets a node may have in a lock's queue. The word counts up to 2²⁰, which is 1,024 for each of 1,024 nodes: the
     * rest is for threads that find the queue empty at the same moment and draw without looking further.
     */
    static final int TICKETS_MAX = 1000;

    private static final Logger log = LoggerFactory.getLogger(NodeLock.class);

    /** A waiter reports to the home again, in case the home was restarted. */
    private static final Duration QUEUE_AGAIN = Duration.ofSeconds(2);

    private static final long QUEUE_RETRY_NS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int TRIES = 16;
    private static final VarHandle HELD;

    static {
        try {
            HELD = MethodHandles.lookup().findVarHandle(NodeLock.class, "held", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final String name;
    private final SyncWord word;
    private final Mapping mapping;
    private final SyncCalls calls;
    private final SyncCounters counters;

    /**
     * {@link LockWord#heldAlone} of the last ticket that was drawn on the short way and held the lock; 0: none. It stays noted
     * after a release that the word has: nobody asks for a ticket whose turn is over.
     */
    @SuppressWarnings("unused") // through HELD: a volatile store would cost the uncontended path a fence
    private long held;

    /** Whose it is; written before {@link #held}. */
    private @Nullable SessionSync heldBy;

    /** The word as {@link #tryAcquire} saw it last, its next guess; racy. */
    private long guessedWord;

    @GuardedBy("this")
    private final Map<Long, Hold.Queued> claims = new HashMap<>(); // beside the short way: waiting, or holding

    @GuardedBy("this")
    private final TreeSet<Long> givenUp = new TreeSet<>(); // in the queue, and nobody wants them

    /** Draws whose ticket is not claimed yet, other than those within an operation on the mapping. */
    private final AtomicInteger drawing = new AtomicInteger();

    /** Grows when what was held is held no more, although nobody released it; changed under the monitor. */
    private volatile int generation;

    /** How often the word has got another home; changed under the monitor, read without. */
    private volatile int homeMoves;

    /** The tickets beside the short way; changed under the monitor, read without. */
    private volatile int tickets;

    NodeLock(String name, SyncWord word, SyncCalls calls, SyncCounters counters) {
        this.name = name;
        this.word = word;
        mapping = word.mapping();
        this.calls = calls;
        this.counters = counters;
    }

    String name() {
        return name;
    }

    SyncWord word() {
        return word;
    }

    /** Which holds are good: those that were begun since this number is what it is. */
    int generation() {
        return generation;
    }

    /** Nothing that was held before the call is held any more, which its sessions learn; waiting tickets keep waiting. */
    synchronized void lose() {
        generation++;
        SessionSync last = held() == 0 ? null : heldBy;
        if (last != null) {
            last.lockLost(); // unless it has released it already, which is not worth knowing
        }
        HELD.setVolatile(this, 0L);
        for (Iterator<Hold.Queued> all = claims.values().iterator(); all.hasNext(); ) {
            Hold.Queued hold = all.next();
            if (hold.state() == Hold.HELD) {
                hold.session().lockLost();
                hold.setState(Hold.OVER);
                all.remove();
            } else {
                hold.renew(generation);
            }
        }
        countTickets();
    }

    /** How one session uses the lock. */
    User user(SessionSync session) {
        return new User(session);
    }

    /** A session at this lock. Any thread. */
    final class User implements Mapping.Drawer {
        private final SessionSync session;

        User(SessionSync session) {
            this.session = session;
        }

        NodeLock lock() {
            return NodeLock.this;
        }

        SessionSync session() {
            return session;
        }

        HeldLock acquire(Duration timeout) {
            if (tickets != 0 || !mapping.isOneMappedExtent()) {
                return acquireBeside(this, Deadline.in(timeout));
            }
            int since = generation;
            long before;
            try {
                before = mapping.fetchAdd(0, LockWord.DRAW, this);
            } catch (Mapping.NotMappedException e) {
                return acquireBeside(this, Deadline.in(timeout)); // it moves, which is waited for there
            }
            if (LockWord.count(before) == 0) {
                return new Hold(this, before + LockWord.DRAW, Hold.HELD, since);
            }
            Hold.Queued hold = new Hold.Queued(this, LockWord.next(before), Hold.WAITING, since);
            enterDrawn(hold);
            return await(hold, Deadline.in(timeout));
        }

        Optional<HeldLock> tryAcquire() {
            return NodeLock.this.tryAcquire(this);
        }

        /** Within the operation, so the session's end either is seen here or waits until the draw is noted. */
        @Override
        public void beforeDraw() {
            session.requireOpen();
        }

        @Override
        public void drawn(long before) {
            if (LockWord.count(before) == 0) {
                hold(before + LockWord.DRAW, session);
            } else {
                drawing.incrementAndGet();
            }
        }
    }

    private void hold(long alone, SessionSync session) {
        if (heldBy != session) {
            heldBy = session;
        }
        HELD.setRelease(this, alone);
    }

    private long held() {
        return (long) HELD.getAcquire(this);
    }

    private HeldLock acquireBeside(User user, Deadline deadline) {
        Hold.Queued hold = takeOver(user, deadline);
        if (hold != null) {
            return await(hold, deadline);
        }
        beginDraw(user.session);
        int since = generation;
        boolean drawn = false;
        long before;
        try {
            before = word.fetchAdd(LockWord.DRAW, deadline);
            drawn = true;
        } finally {
            if (!drawn) {
                drawing.decrementAndGet(); // if a ticket was drawn all the same, nobody claims it
            }
        }
        boolean free = LockWord.count(before) == 0;
        hold = new Hold.Queued(user, LockWord.next(before), free ? Hold.HELD : Hold.WAITING, since);
        enterDrawn(hold);
        return free ? hold : await(hold, deadline);
    }

    private void enterDrawn(Hold.Queued hold) {
        try {
            enter(hold);
        } finally {
            drawing.decrementAndGet();
        }
    }

    private synchronized void beginDraw(SessionSync session) {
        session.requireOpen();
        if (tickets + drawing.get() >= TICKETS_MAX) {
            throw new LimitExceededException(
                    "lock \"%s\": %d tickets of this node are in its queue, %d of them given up; the limit is %d"
                            .formatted(name, tickets, givenUp.size(), TICKETS_MAX));
        }
        drawing.incrementAndGet();
    }

    /** Claims a ticket. The session's end comes before, and is seen here, or after, and sees the claim. */
    private synchronized void enter(Hold.Queued hold) {
        if (!hold.session().isOpen()) {
            hold.setState(Hold.OVER);
            givenUp.add(hold.ticket());
            countTickets();
            throw hold.session().ended();
        }
        claims.put(hold.ticket(), hold);
        countTickets();
    }

    @GuardedBy("this")
    private void countTickets() {
        tickets = claims.size() + givenUp.size();
    }

    /**
     * Reuses a ticket that somebody here gave up, if it is the last in the queue: so a thread that asks again and again with a
     * short deadline keeps its place, and does not fill the queue.
     */
    private Hold.@Nullable Queued takeOver(User user, Deadline deadline) {
        synchronized (this) {
            if (givenUp.isEmpty()) {
                return null;
            }
        }
        long now = word.fetchAdd(0, deadline);
        synchronized (this) {
            user.session.requireOpen();
            givenUp.headSet(LockWord.turn(now)).clear();
            if (givenUp.isEmpty() || givenUp.last() + 1 != LockWord.next(now)) {
                countTickets();
                return null;
            }
            Hold.Queued hold = new Hold.Queued(user, givenUp.removeLast(), Hold.WAITING, generation);
            enter(hold);
            return hold;
        }
    }

    private HeldLock await(Hold.Queued hold, Deadline deadline) {
        counters.waited();
        HeldLock held = null;
        try {
            held = awaitTurn(hold, deadline);
            return held;
        } finally {
            if (held == null && !giveUp(hold)) {
                hold.close(); // its turn came while the wait failed
            }
        }
    }

    private HeldLock awaitTurn(Hold.Queued hold, Deadline deadline) {
        long queueAtNs = System.nanoTime();
        LiteException trouble = null;
        int home = homeMoves;
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
                    if (trouble instanceof NodeUnreachableException) {
                        long unused = word.fetchAdd(0, deadline); // throws, and says whether its home is lost
                    }
                    throw new LiteTimeoutException(deadline.expired("waiting for lock \"%s\"%s"
                            .formatted(name, trouble == null ? "" : " (" + trouble.getMessage() + ")")));
                }
                break;
            }
            long untilQueueNs = queueAtNs - System.nanoTime();
            if (untilQueueNs > 0 && home == homeMoves) {
                LockSupport.parkNanos(this, Math.min(leftNs, untilQueueNs));
                continue;
            }
            home = homeMoves;
            trouble = queue(hold, deadline);
            queueAtNs = System.nanoTime() + (trouble == null ? QUEUE_AGAIN.toNanos() : QUEUE_RETRY_NS);
        }
        if (hold.state() != Hold.HELD) {
            throw hold.session().ended();
        }
        return hold;
    }

    /** Reports a waiting ticket to the home; returns what went wrong, if it is worth another try. */
    private @Nullable LiteException queue(Hold.Queued hold, Deadline deadline) {
        Deadline ofCall = deadline.remaining().compareTo(QUEUE_AGAIN) > 0 ? Deadline.in(QUEUE_AGAIN) : deadline;
        try {
            switch (calls.queue(word.ref(), hold.ticket(), ofCall)) {
                case QUEUED -> {}
                case HELD -> turn(hold.ticket());
                case PASSED ->
                    throw new LmrUnavailableException(
                            "lock \"%s\": its home took this node for dead and passed ticket %d over"
                                    .formatted(name, hold.ticket()));
            }
            return null;
        } catch (LmrUnavailableException e) {
            throw e; // the home's memory is lost, or this node was passed over
        } catch (LiteException e) {
            return e;
        }
    }

    /** Leaves the queue; false when it is not waiting any more. The home passes the ticket over when its turn comes. */
    private synchronized boolean giveUp(Hold.Queued hold) {
        if (hold.state() != Hold.WAITING) {
            return false;
        }
        hold.setState(Hold.OVER);
        claims.remove(hold.ticket());
        givenUp.add(hold.ticket());
        countTickets();
        return true;
    }

    private Optional<HeldLock> tryAcquire(User user) {
        user.session.requireOpen();
        if (tickets != 0) {
            return Optional.empty(); // waited for, or held by who waited, at this very node
        }
        drawing.incrementAndGet();
        int since = generation;
        try {
            Deadline deadline = word.deadline(user.session.timeout());
            long guess = guessedWord;
            for (int tries = 0; tries < TRIES; tries++) {
                long before = word.testSet(guess, guess + LockWord.DRAW, deadline);
                if (before == guess) {
                    guessedWord = guess + LockWord.DRAW + LockWord.PASS; // once it is released
                    return Optional.of(holdNow(guess + LockWord.DRAW, user, since));
                }
                if (LockWord.count(before) != 0) {
                    break;
                }
                guess = before;
            }
            return Optional.empty();
        } finally {
            drawing.decrementAndGet();
        }
    }

    private Hold holdNow(long alone, User user, int since) {
        hold(alone, user.session);
        VarHandle.fullFence(); // the session's end sees the note, or is seen here
        Hold hold = new Hold(user, alone, Hold.HELD, since);
        if (!user.session.isOpen()) {
            release(hold);
            throw user.session.ended();
        }
        return hold;
    }

    /** Releases; twice at the same time is harmless. When the home cannot be reached, its audit finds out. */
    void release(Hold hold) {
        hold.setState(Hold.OVER);
        boolean released = false;
        try {
            released = releaseAlone(hold);
            if (!released) {
                calls.release(
                        word.ref(), hold.ticket(), Deadline.in(hold.session().timeout()));
            }
        } catch (LiteException e) {
            log.info(
                    "lock {}: its home will find out that ticket {} is released: {}",
                    name,
                    hold.ticket(),
                    e.getMessage());
        } finally {
            if (!released || hold instanceof Hold.Queued) {
                forget(hold);
            }
        }
    }

    /** {@link #release}, if nobody waits; otherwise it stays held. */
    boolean releaseIfAlone(Hold hold) {
        if (!releaseAlone(hold)) {
            return false;
        }
        hold.setState(Hold.OVER);
        if (hold instanceof Hold.Queued) {
            forget(hold);
        }
        return true;
    }

    /** Releases a lock that nobody waits for; false when somebody does. */
    private boolean releaseAlone(Hold hold) {
        long alone = hold.alone();
        long free = alone + LockWord.PASS;
        if (mapping.isOneMappedExtent()) {
            return mapping.testSet(0, alone, free, null)
                    == alone; // even if it moves meanwhile, with the owner's deadline
        }
        return word.testSet(alone, free, word.deadline(hold.session().timeout())) == alone;
    }

    private synchronized void forget(Hold hold) {
        HELD.compareAndSet(this, hold.alone(), 0L);
        claims.remove(hold.ticket(), hold);
        countTickets();
    }

    /** The home says that it is this ticket's turn; or asks for it. */
    Claim turn(long ticket) {
        Claim claim = claim(ticket);
        if (claim != Claim.UNKNOWN) {
            return claim;
        }
        mapping.awaitOperations(); // it may have been drawn, and not be noted yet
        return claim(ticket);
    }

    private synchronized Claim claim(long ticket) {
        if (givenUp.remove(ticket)) {
            countTickets();
            return Claim.UNKNOWN;
        }
        Hold.Queued hold = claims.get(ticket);
        if (hold == null) {
            if (held() == LockWord.heldAlone(ticket)) {
                return Claim.TAKEN;
            }
            return drawing.get() > 0 ? Claim.UNDECIDED : Claim.UNKNOWN;
        }
        if (hold.state() == Hold.WAITING) {
            hold.setState(Hold.HELD);
            counters.wokenUp();
            LockSupport.unpark(hold.waiter);
        }
        return Claim.TAKEN; // also while its release is under way
    }

    /** The word has another home, which does not know the waiters: they report to it. */
    synchronized void homeMoved() {
        homeMoves++;
        for (Hold.Queued hold : claims.values()) {
            LockSupport.unpark(hold.waiter);
        }
    }

    /** Ends the waits of a session that has ended. */
    synchronized void endWaits(SessionSync session) {
        for (Iterator<Hold.Queued> all = claims.values().iterator(); all.hasNext(); ) {
            Hold.Queued hold = all.next();
            if (hold.session() == session && hold.state() == Hold.WAITING) {
                hold.setState(Hold.OVER);
                all.remove();
                givenUp.add(hold.ticket());
                LockSupport.unpark(hold.waiter);
            }
        }
        countTickets();
    }

    /** Releases what a session holds that has ended. */
    void releaseAll(SessionSync session) {
        endWaits(session);
        mapping.awaitOperations();
        for (long now = held(); now != 0 && heldBy == session; now = held()) {
            if (isTurnOf(LockWord.turn(now))) {
                release(new Hold(user(session), now, Hold.HELD, generation));
            }
            HELD.compareAndSet(this, now, 0L);
        }
        List<Hold> holding = new ArrayList<>();
        synchronized (this) {
            claims.values().stream().filter(hold -> hold.session() == session).forEach(holding::add);
        }
        holding.forEach(Hold::close);
    }

    private boolean isTurnOf(long ticket) {
        try {
            return LockWord.turn(word.fetchAdd(0, word.deadline(QUEUE_AGAIN))) == ticket;
        } catch (LiteException e) {
            log.debug("lock {}: whether ticket {} holds it is not known: {}", name, ticket, e.getMessage());
            return true; // releasing it twice is harmless
        }
    }
}
