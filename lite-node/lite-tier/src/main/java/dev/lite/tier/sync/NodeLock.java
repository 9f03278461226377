package dev.lite.tier.sync;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One node's view of a lock: the tickets that its threads drew. The lock word decides which ticket holds the lock. This
 * object knows which tickets this node still claims, and answers the home's question ({@link #turn}). The home passes
 * over a ticket that no node claims. So nothing has to be undone when a draw, a wait or a release fails.
 *
 * <p><b>Fast path</b> (uncontended, and the word is mapped): one atomic addition to acquire, one compare-and-set to
 * release. It takes no monitor, uses no map and allocates one small object. {@link #held} records the holding ticket;
 * one field is enough, because a lock has one holder. The field is written within the operation on the mapping, and the
 * home's question waits for operations in flight, so the question never falls between the draw and the write. All other
 * cases take the slow path under this object's monitor; they block or go through a fabric anyway.
 *
 * <p>Limit: {@value #TICKETS_MAX} tickets, including abandoned ones that are still in the queue.
 */
final class NodeLock implements WordUser {
    /**
     * Maximum number of tickets of one node in a lock's queue. The word counts up to 2²⁰ tickets: 1,024 for each of
     * 1,024 nodes. The difference is reserved for threads that find the queue empty at the same moment and draw without
     * a check.
     */
    static final int TICKETS_MAX = 1000;

    private static final Logger log = LoggerFactory.getLogger(NodeLock.class);

    /** Interval at which a waiter reports to the home again, in case the home restarted. */
    private static final Duration QUEUE_AGAIN = Duration.ofSeconds(2);

    private static final long QUEUE_RETRY_NS = TimeUnit.MILLISECONDS.toNanos(20);

    /** How long a report may wait to be sent. Meanwhile its waiter does not notice its turn. */
    private static final Duration QUEUE_SEND = Duration.ofMillis(100);

    /** While the home does not answer, how often a waiter reads the word: it may pass on without the home. */
    private static final long UNANSWERED_NS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final int TRIES = 16;

    /** In place of a generation: a message of the home says that it is a ticket's turn, and nobody knows since when. */
    private static final int BY_MESSAGE = -1;

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
    private final TakenReports takenReports;
    private final Executor executor;
    private final TurnWatch watch;

    /**
     * {@link LockWord#heldAlone} of the last ticket that took the lock on the fast path; 0: none. A release changes the
     * word and leaves this field as it is: nobody asks about a ticket whose turn is over.
     */
    @SuppressWarnings("unused") // accessed through HELD: a volatile store would add a fence to the fast path
    private long held;

    /** The session that owns the ticket in {@link #held}; written before it. */
    private @Nullable SessionSync heldBy;

    /** The value of the word that {@link #tryAcquire} expects next; racy. */
    private long guessedWord;

    @GuardedBy("this")
    private final Map<Long, Hold.Queued> claims = new HashMap<>(); // slow-path tickets: waiting or holding

    @GuardedBy("this")
    private final TreeSet<Long> givenUp = new TreeSet<>(); // abandoned, but still in the queue

    /** Draws whose ticket is not claimed yet, except those within an operation on the mapping. */
    private final AtomicInteger drawing = new AtomicInteger();

    private final Tries tries = new Tries();

    /** Incremented when holds are lost without a release; changed under the monitor. */
    private volatile int generation;

    /** How often all waiters had to report to the home at once; changed under the monitor, read without it. */
    private volatile int toReport;

    /** Number of slow-path tickets, and one if the word is dead; changed under the monitor, read without it. */
    private volatile int tickets;

    @GuardedBy("this")
    private boolean dead; // its sessions open the lock again by its name

    NodeLock(String name, SyncWord word, SyncCalls calls, Executor executor, SyncCounters counters, TurnWatch watch) {
        this.name = name;
        this.word = word;
        mapping = word.mapping();
        this.calls = calls;
        this.counters = counters;
        this.executor = executor;
        takenReports = new TakenReports(word, calls, executor);
        this.watch = watch;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public SyncWord word() {
        return word;
    }

    /** Holds are valid if they began in this generation. */
    int generation() {
        return generation;
    }

    /**
     * Invalidates all holds and notifies their sessions. Waiting tickets keep waiting, and report to the home again: what
     * this node learned of their turns before is no longer true, because the home may have passed them over.
     */
    synchronized void lose() {
        generation++;
        toReport++;
        SessionSync last = held() == 0 ? null : heldBy;
        if (last != null) {
            last.lockLost(); // harmless if the session has already released the lock
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
                LockSupport.unpark(hold.waiter);
            }
        }
        countTickets();
    }

    /** A word dies only while nobody holds the lock: holds that this node still believes in have passed on. */
    @Override
    public void wordDied() {
        lose();
    }

    /** Whether no thread of this node draws, waits or holds, except on the fast path, where only a session draws. */
    @Override
    public synchronized boolean isIdle() {
        return claims.isEmpty() && drawing.get() == 0 && !tries.areUnderWay();
    }

    /** Whether a thread of this node draws, waits or holds, or may do so. */
    boolean isInUse() {
        return !isIdle() || mayHold();
    }

    /** Whether the last ticket of the fast path may still hold the lock. A word that moved out of mapped memory does not tell. */
    private boolean mayHold() {
        long last = held();
        if (last == 0) {
            return false;
        }
        try {
            long now = word.read();
            return !LockWord.isDead(now) && LockWord.count(now) > 0 && LockWord.turn(now) == LockWord.turn(last);
        } catch (Mapping.NotMappedException | LiteException e) {
            return true;
        }
    }

    /**
     * Draws a ticket on the fast path.
     *
     * @return a hold that holds the lock, or one to {@link #await}; null if the caller must {@link #acquire}
     */
    @Nullable
    Hold draw(LockUser user) {
        if (tickets != 0 || !mapping.isOneMappedExtent()) {
            return null;
        }
        int since = generation;
        try {
            long before = mapping.fetchAdd(0, LockWord.DRAW, user);
            if (LockWord.count(before) == 0) {
                return new Hold(user, before + LockWord.DRAW, Hold.HELD, since);
            }
            return enterDrawn(before, user, since);
        } catch (Mapping.NotMappedException | LmrFreedException | GivenUpException e) {
            return null; // the word moves or is dead, or the session gives it up; the slow path handles that
        }
    }

    /** Records a draw on the fast path; runs within the operation on the mapping. */
    void drawn(long before, SessionSync session) {
        if (LockWord.count(before) == 0) {
            hold(before + LockWord.DRAW, session);
        } else {
            drawing.incrementAndGet();
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

    /**
     * Acquires on the slow path.
     *
     * @throws LmrFreedException if the word was removed; the lock must be opened by its name again
     * @throws GivenUpException likewise if the session has given the lock up
     */
    HeldLock acquire(LockUser user, Deadline deadline) {
        Hold.Queued hold = takeOver(user, deadline);
        if (hold != null) {
            return await(hold, deadline);
        }
        beginDraw(user);
        int since = generation;
        boolean drawn = false;
        long before;
        try {
            before = word.fetchAdd(LockWord.DRAW, deadline);
            drawn = true;
        } finally {
            if (!drawn) {
                drawing.decrementAndGet(); // if a ticket was drawn after all, nobody claims it
            }
        }
        hold = enterDrawn(before, user, since);
        return LockWord.count(before) == 0 ? hold : await(hold, deadline);
    }

    private static Hold.Queued queued(LockUser user, long before, int since) {
        int ahead = LockWord.count(before);
        return new Hold.Queued(user, LockWord.next(before), ahead == 0 ? Hold.HELD : Hold.WAITING, since, ahead == 1);
    }

    /** Claims a ticket that was drawn. If that fails, the draw is over all the same: the home passes the ticket over. */
    private Hold.Queued enterDrawn(long before, LockUser user, int since) {
        try {
            requireAlive(before);
            Hold.Queued hold = queued(user, before, since);
            enter(hold);
            return hold;
        } finally {
            drawing.decrementAndGet();
        }
    }

    /** Nobody draws from a dead word any more: each thread on the way may add to it once. */
    private void requireAlive(long now) {
        if (LockWord.isDead(now)) {
            synchronized (this) {
                dead = true;
                countTickets();
            }
            throw died();
        }
    }

    private LmrFreedException died() {
        return new LmrFreedException("lock \"%s\": its word was removed".formatted(name));
    }

    private synchronized void beginDraw(LockUser user) {
        user.requireUsed();
        if (dead) {
            throw died();
        }
        if (tickets + drawing.get() >= TICKETS_MAX) {
            throw new LimitExceededException(
                    "lock \"%s\": %d tickets of this node are in its queue, %d of them abandoned; the limit is %d"
                            .formatted(name, tickets, givenUp.size(), TICKETS_MAX));
        }
        drawing.incrementAndGet();
    }

    /** Claims a ticket. If the session ends first, this sees it; if it ends later, the end sees the claim. */
    private synchronized void enter(Hold.Queued hold) {
        if (!hold.session().isOpen()) {
            hold.setState(Hold.OVER);
            givenUp.add(hold.ticket());
            countTickets();
            throw hold.session().ended();
        }
        if (hold.state() == Hold.WAITING) {
            hold.renew(generation); // holds may have been lost since the draw began, when lose() did not know this one
        }
        claims.put(hold.ticket(), hold);
        countTickets();
    }

    @GuardedBy("this")
    private void countTickets() {
        tickets = claims.size() + givenUp.size() + (dead ? 1 : 0);
    }

    /**
     * Reuses an abandoned ticket of this node if it is the last in the queue. So a thread that retries with a short
     * deadline keeps its place and does not fill the queue.
     */
    private Hold.@Nullable Queued takeOver(LockUser user, Deadline deadline) {
        synchronized (this) {
            if (givenUp.isEmpty()) {
                return null;
            }
        }
        int since = generation;
        long now = word.fetchAdd(0, deadline);
        requireAlive(now);
        synchronized (this) {
            user.requireUsed();
            givenUp.headSet(LockWord.turn(now)).clear();
            if (givenUp.isEmpty() || givenUp.last() + 1 != LockWord.next(now)) {
                countTickets();
                return null;
            }
            Hold.Queued hold = new Hold.Queued(user, givenUp.removeLast(), Hold.WAITING, generation, false);
            hold.confirmed = since;
            enter(hold);
            return hold;
        }
    }

    /** Forgets abandoned tickets whose turn is over; true if this node has no ticket in the queue then. */
    private boolean dropPassed(Deadline deadline) {
        synchronized (this) {
            if (!claims.isEmpty()) {
                return false;
            }
        }
        long now = word.fetchAdd(0, deadline);
        requireAlive(now);
        long turn = LockWord.turn(now);
        synchronized (this) {
            givenUp.headSet(turn).clear();
            countTickets();
            return tickets == 0;
        }
    }

    /** Waits for the turn of a ticket that {@link #draw} drew. Throws as {@link #acquire} does. */
    HeldLock await(Hold.Queued hold, Deadline deadline) {
        counters.waited();
        HeldLock held = null;
        try {
            held = awaitTurn(hold, deadline);
            return held;
        } finally {
            if (held == null) {
                abandon(hold);
            }
        }
    }

    private void abandon(Hold.Queued hold) {
        if (!giveUp(hold) && hold.state() == Hold.HELD) {
            hold.close(); // its turn came when the wait failed
        } else if (!hold.reported) {
            report(hold.ticket());
        }
    }

    /** Tells the home of an abandoned ticket, which it then passes over without delay. Does not wait. */
    private void report(long ticket) {
        later(() -> {
            Deadline deadline = Deadline.in(QUEUE_AGAIN);
            if (calls.queue(word.ref(), ticket, deadline) == SyncCalls.Place.HELD && turn(ticket) == Claim.UNKNOWN) {
                calls.release(word.ref(), ticket, deadline);
                counters.passedOver();
            }
        });
    }

    /** Sends something to the home. If that fails, the home's audit finds out by itself. */
    private void later(Runnable message) {
        try {
            executor.execute(() -> {
                try {
                    message.run();
                } catch (LiteException e) {
                    log.debug("lock {}: the home's audit has to find out: {}", name, e.getMessage());
                }
            });
        } catch (RejectedExecutionException e) {
            log.debug("lock {}: the node stops", name);
        }
    }

    private HeldLock awaitTurn(Hold.Queued hold, Deadline deadline) {
        watch.await(word, hold, deadline, () -> generation, since -> wakeHere(hold.ticket(), since));
        long queueAtNs = System.nanoTime();
        LiteException trouble = null;
        int reported = toReport;
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
                        long unused = word.fetchAdd(0, deadline); // throws if the home is lost
                    }
                    throw new LiteTimeoutException(deadline.expired("waiting for lock \"%s\"%s"
                            .formatted(name, trouble == null ? "" : " (" + trouble.getMessage() + ")")));
                }
                break;
            }
            long untilQueueNs = queueAtNs - System.nanoTime();
            if (untilQueueNs > 0 && reported == toReport) {
                LockSupport.parkNanos(this, Math.min(leftNs, untilQueueNs));
                continue;
            }
            reported = toReport;
            trouble = queue(hold, deadline);
            queueAtNs = System.nanoTime() + (trouble == null ? QUEUE_AGAIN.toNanos() : QUEUE_RETRY_NS);
        }
        if (hold.state() != Hold.HELD) {
            hold.session().requireOpen();
            throw new LmrUnavailableException(
                    "lock \"%s\" was lost at once, because the cluster removed this node".formatted(name));
        }
        return hold;
    }

    /** Reports a waiting ticket to the home. Returns null, or an error that is worth a retry. */
    private @Nullable LiteException queue(Hold.Queued hold, Deadline deadline) {
        word.followMove(deadline);
        Deadline ofCall = deadline.remaining().compareTo(QUEUE_AGAIN) > 0 ? Deadline.in(QUEUE_AGAIN) : deadline;
        int since = generation;
        try {
            SyncCalls.Place place = askPlace(hold, ofCall);
            if (place == null) {
                return null;
            }
            boolean first = !hold.reported;
            hold.reported = true;
            switch (place) {
                case QUEUED -> {
                    confirm(hold, since);
                    if (first && hold.isNext && !word.isMapped()) {
                        watch.awaitNotified(hold);
                    }
                }
                case HELD -> turn(hold.ticket(), since);
                case PASSED ->
                    throw new LmrUnavailableException(
                            "lock \"%s\": its home assumed that this node is dead and passed ticket %d over"
                                    .formatted(name, hold.ticket()));
            }
            return null;
        } catch (LmrUnavailableException | LmrFreedException e) {
            throw e; // the home passed this ticket over, or has no such word
        } catch (LiteException e) {
            takeTurn(hold);
            return e;
        }
    }

    /** Reports, and waits for the answer; null if the wait for the turn ends before, or another report is due. */
    private SyncCalls.@Nullable Place askPlace(Hold.Queued hold, Deadline deadline) {
        WordRef ref = word.ref();
        if (calls.isHome(ref)) {
            return calls.queue(ref, hold.ticket(), deadline);
        }
        int before = toReport;
        CompletableFuture<byte[]> answer = calls.beginQueue(ref, hold.ticket(), deadline.atMost(QUEUE_SEND));
        CompletableFuture<?> unused = answer.whenComplete((bytes, failure) -> LockSupport.unpark(hold.waiter));
        while (!answer.isDone() && !deadline.passed()) {
            if (hold.state() != Hold.WAITING
                    || before != toReport
                    || Thread.currentThread().isInterrupted()) {
                return null;
            }
            LockSupport.parkNanos(answer, Math.min(UNANSWERED_NS, deadline.remainingNs()));
            if (!answer.isDone()) {
                takeTurn(hold);
            }
        }
        return calls.place(ref, answer, deadline);
    }

    /** Takes the lock if the word is mapped and says that it is the ticket's turn. */
    private void takeTurn(Hold.Queued hold) {
        int since = generation;
        try {
            long now = word.read();
            if (!LockWord.isDead(now) && LockWord.turn(now) == hold.ticket()) {
                boolean unused = wakeHere(hold.ticket(), since);
            }
        } catch (Mapping.NotMappedException | LiteException e) {
            return; // then only the home can tell
        }
    }

    private synchronized void confirm(Hold.Queued hold, int since) {
        hold.confirmed = since;
    }

    /** Abandons a waiting ticket; false if it no longer waits. The home passes the ticket over when its turn comes. */
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

    /** See {@link dev.lite.api.LtLock#tryAcquire}. Throws as {@link #acquire} does. */
    Optional<HeldLock> tryAcquire(LockUser user) {
        user.session().requireOpen();
        Deadline deadline = word.deadline(user.session().timeout());
        if (tickets != 0 && !dropPassed(deadline)) {
            takenReports.report();
            return Optional.empty(); // a ticket of this node waits, or waited and now holds the lock
        }
        int half = tries.begin();
        int since = generation;
        try {
            user.requireUsed(); // after the begin: who gives the lock up sees the try, or this sees that
            long guess = guessedWord;
            for (int count = 0; count < TRIES; count++) {
                long before = word.testSet(guess, guess + LockWord.DRAW, deadline);
                if (before == guess) {
                    guessedWord = guess + LockWord.DRAW + LockWord.PASS; // the value after the release
                    return Optional.ofNullable(holdNow(guess + LockWord.DRAW, user, since));
                }
                requireAlive(before);
                if (LockWord.count(before) != 0) {
                    takenReports.report();
                    break;
                }
                guess = before;
            }
            return Optional.empty();
        } finally {
            tries.end(half);
        }
    }

    /**
     * Takes the ticket that a try has drawn.
     *
     * @param since {@link #generation} before the draw
     * @return null if holds were lost since then: the home may have passed the ticket over
     */
    @Nullable
    Hold holdNow(long alone, LockUser user, int since) {
        Hold hold = new Hold(user, alone, Hold.HELD, since);
        if (!record(hold, since)) {
            release(hold); // the home may also not have noticed
            return null;
        }
        VarHandle.fullFence(); // either the session's end sees held, or isOpen() below sees the end
        if (!user.session().isOpen()) {
            release(hold);
            throw user.session().ended();
        }
        return hold;
    }

    /**
     * Records the ticket of a try, unless holds were lost since the draw. The monitor keeps a loss from coming in between: after
     * one, {@link #held} may be the record of a later holder.
     */
    private synchronized boolean record(Hold hold, int since) {
        if (generation != since) {
            return false;
        }
        hold(hold.alone(), hold.session());
        return true;
    }

    /**
     * Releases the lock. Two releases at the same time are harmless. If the home is unreachable, its audit ends the
     * turn.
     */
    void release(Hold hold) {
        hold.setState(Hold.OVER);
        boolean released = false;
        try {
            released = releaseAlone(hold);
            if (!released) {
                passOn(hold);
            }
        } catch (LiteException e) {
            logUnreleased(hold, e);
        } finally {
            if (!released || isRecorded(hold)) {
                forget(hold);
            }
        }
    }

    /** Does {@link #release} if it need not wait for another node. Otherwise the lock stays held. */
    boolean releaseIfAtOnce(Hold hold) {
        boolean alone = releaseAlone(hold);
        if (!alone && !word.isMapped()) {
            return false;
        }
        hold.setState(Hold.OVER);
        try {
            if (!alone && mustTellHome(hold)) {
                later(() -> calls.release(word.ref(), hold.ticket(), Deadline.in(QUEUE_AGAIN)));
            }
        } catch (LiteException e) {
            logUnreleased(hold, e);
        } finally {
            if (!alone || isRecorded(hold)) {
                forget(hold);
            }
        }
        return true;
    }

    /** Whether a release must forget the ticket. Of the fast path, only if the word does not tell cheaply that its turn is over. */
    private boolean isRecorded(Hold hold) {
        return hold instanceof Hold.Queued || !word.isMapped();
    }

    private void logUnreleased(Hold hold, LiteException why) {
        if (why instanceof LmrFreedException) {
            log.debug("lock {}: the end of its last session has released ticket {}", name, hold.ticket());
        } else {
            log.info("lock {}: the home's audit will release ticket {}: {}", name, hold.ticket(), why.getMessage());
        }
    }

    /** Passes the lock on to the next ticket. */
    private void passOn(Hold hold) {
        Deadline deadline = Deadline.in(hold.session().timeout());
        if (!word.isMapped()) {
            calls.release(word.ref(), hold.ticket(), deadline);
        } else if (mustTellHome(hold)) {
            calls.beginRelease(word.ref(), hold.ticket(), deadline);
        }
    }

    /**
     * Ends the turn of a ticket in the mapped word, and wakes the next one if it waits on the word or in this node.
     *
     * @return whether the home may have to notify the next one
     */
    private boolean mustTellHome(Hold hold) {
        int since = generation;
        long now = word.pass(hold.ticket(), word.deadline(hold.session().timeout()));
        return now != SyncWord.NOT_PASSED && LockWord.isQueued(now) && !wakeHere(LockWord.turn(now), since);
    }

    /**
     * Gives the lock to a ticket whose turn it is, if a thread of this node waits with it; else false.
     *
     * @param since {@link #generation} before the word was read
     */
    synchronized boolean wakeHere(long ticket, int since) {
        return claims.containsKey(ticket) && claim(ticket, since) == Claim.TAKEN;
    }

    /** Releases the lock if nobody waits for it; else false. */
    private boolean releaseAlone(Hold hold) {
        long alone = hold.alone();
        long free = alone + LockWord.PASS;
        if (mapping.isOneMappedExtent()) {
            return mapping.testSet(0, alone, free, null)
                    == alone; // works while the word moves; the owner's deadline applies
        }
        return word.testSet(alone, free, word.deadline(hold.session().timeout())) == alone;
    }

    private synchronized void forget(Hold hold) {
        HELD.compareAndSet(this, hold.alone(), 0L);
        claims.remove(hold.ticket(), hold);
        countTickets();
    }

    /**
     * The home notifies this node of a ticket's turn, or asks whether this node claims the ticket. The message may be from
     * before a fence of this node and handled after it, when the home has passed the ticket over. So this node takes no
     * turn by a message until the home has said after the fence that the ticket is still queued: no earlier message can
     * give that ticket its turn.
     */
    Claim turn(long ticket) {
        return turn(ticket, BY_MESSAGE);
    }

    private Claim turn(long ticket, int since) {
        Claim claim = claim(ticket, since);
        if (claim != Claim.UNKNOWN) {
            return claim;
        }
        mapping.awaitOperations(); // the ticket may be drawn but not yet recorded
        return claim(ticket, since);
    }

    /** @param since {@link #generation} before this node learned that it is the ticket's turn, or {@link #BY_MESSAGE} */
    private synchronized Claim claim(long ticket, int since) {
        boolean undecided = drawing.get() > 0 || tries.mayHaveDrawn(ticket); // before what they record is read
        if (givenUp.remove(ticket)) {
            countTickets();
            return Claim.UNKNOWN;
        }
        Hold.Queued hold = claims.get(ticket);
        if (hold == null) {
            if (held() == LockWord.heldAlone(ticket)) {
                return Claim.TAKEN;
            }
            return undecided ? Claim.UNDECIDED : Claim.UNKNOWN;
        }
        if (hold.state() == Hold.WAITING) {
            if ((since == BY_MESSAGE ? hold.confirmed : since) != generation) {
                toReport++; // this node was fenced since then: its waiter reports and learns the truth
                LockSupport.unpark(hold.waiter);
                return Claim.UNDECIDED;
            }
            hold.setState(Hold.HELD);
            counters.wokenUp();
            if (hold.waiter != Thread.currentThread()) {
                LockSupport.unpark(hold.waiter);
            }
        }
        return Claim.TAKEN; // also while the release is in flight
    }

    /** The word moved to another home, which does not know the waiters yet: wakes them to report to it. */
    @Override
    public synchronized void homeMoved() {
        toReport++;
        for (Hold.Queued hold : claims.values()) {
            LockSupport.unpark(hold.waiter);
        }
    }

    /** Ends all waits of a session that has ended. */
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

    /** Whether a session of this node holds the lock now. */
    boolean isHeldBy(SessionSync session) {
        if (heldBy == session && mayHold()) {
            return true;
        }
        synchronized (this) {
            return claims.values().stream().anyMatch(hold -> hold.session() == session && hold.state() == Hold.HELD);
        }
    }

    /** Releases all holds of a session that has ended. */
    void releaseAll(SessionSync session) {
        endWaits(session);
        mapping.awaitOperations();
        for (long now = held(); now != 0 && heldBy == session; now = held()) {
            if (isTurnOf(LockWord.turn(now))) {
                release(new Hold(new LockUser(this, session), now, Hold.HELD, generation));
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
            long now = word.fetchAdd(0, word.deadline(QUEUE_AGAIN));
            return !LockWord.isDead(now) && LockWord.turn(now) == ticket;
        } catch (LiteException e) {
            log.debug("lock {}: cannot tell whether ticket {} holds it: {}", name, ticket, e.getMessage());
            return true; // releasing it twice is harmless
        }
    }
}
