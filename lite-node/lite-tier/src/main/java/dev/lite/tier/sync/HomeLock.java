package dev.lite.tier.sync;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.api.LmrFreedException;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.sync.SyncCalls.Claim;
import dev.lite.tier.sync.SyncCalls.Place;
import java.time.Duration;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The queue of a lock whose word lies on this node: tickets in order, each with the node that waits. Only the word
 * decides which ticket has its turn. So this queue need not survive the process: after a restart the waiters report
 * again.
 *
 * <p>Only waiters that did not get the lock soon report here: see {@link TurnWatch}. While the queue has waiters, the word is
 * marked ({@link LockWord#isQueued}), and the node that passes the lock on tells this home. Then the home sends one message to
 * the node of the next ticket, which wakes one waiter. If a turn does not end while others wait or try, {@link #audit} asks
 * which node claims the ticket. If no remaining node claims it, the home passes it over.
 *
 * <p>Limit: the tickets that the word counts, at most 2²⁰.
 */
final class HomeLock {
    private static final Logger log = LoggerFactory.getLogger(HomeLock.class);
    private static final Duration CALL = Duration.ofSeconds(2);

    /** Audits of one turn run after 1, 2, 4 … ticks; this is the longest interval. */
    private static final int AUDIT_TICKS_MAX = 10;

    private static final int NOBODY = -1;

    private final SyncWord word;
    private final SyncCalls calls;
    private final ClusterView cluster;
    private final Executor executor;
    private final SyncCounters counters;

    @GuardedBy("this")
    private final TreeMap<Long, Integer> waiters = new TreeMap<>();

    @GuardedBy("this")
    private long notified = -1; // the last ticket that was notified of its turn; notifiedNode is its node

    @GuardedBy("this")
    private int notifiedNode = NOBODY;

    @GuardedBy("this")
    private long auditedTurn = -1;

    @GuardedBy("this")
    private int ticksLeft;

    @GuardedBy("this")
    private int ticksApart;

    @GuardedBy("this")
    private boolean auditing;

    @GuardedBy("this")
    private boolean tried; // a try found the lock taken since the last audit began

    HomeLock(SyncWord word, SyncCalls calls, ClusterView cluster, Executor executor, SyncCounters counters) {
        this.word = word;
        this.calls = calls;
        this.cluster = cluster;
        this.executor = executor;
        this.counters = counters;
    }

    SyncWord word() {
        return word;
    }

    /** The number of tickets that are known to wait. */
    synchronized int waiting() {
        return waiters.size();
    }

    private long now() {
        long seen = word.fetchAdd(0, word.deadline(CALL));
        if (LockWord.isDead(seen)) {
            throw new LmrFreedException(
                    "the word of the lock %d is dead".formatted(word.ref().lmrId()));
        }
        return seen;
    }

    /** Ends the word, unless a ticket holds the lock or waits. From now on nobody can acquire the lock by this word. */
    synchronized boolean retire() {
        long seen = now();
        return LockWord.count(seen) == 0 && word.testSet(seen, LockWord.dead(seen), word.deadline(CALL)) == seen;
    }

    /** A node reports that it waits with a ticket. */
    synchronized Place queue(int node, long ticket) {
        long seen = now();
        while (ticket > LockWord.turn(seen)) {
            long before = seen;
            if (LockWord.count(seen) > 0 && !LockWord.isQueued(seen)) {
                before = word.testSet(seen, LockWord.queued(seen), word.deadline(CALL));
            }
            if (before == seen) {
                waiters.put(ticket, node);
                return Place.QUEUED;
            }
            seen = before;
        }
        if (ticket < LockWord.turn(seen)) {
            return Place.PASSED;
        }
        waiters.remove(ticket);
        notified = ticket;
        notifiedNode = node;
        return Place.HELD;
    }

    /** Ends a ticket's turn, if it has not ended yet, and notifies the next ticket, if it was not notified yet. */
    void release(long ticket) {
        long unused = word.pass(ticket, word.deadline(CALL));
        tellNext();
    }

    private void tellNext() {
        long turn;
        Integer node;
        synchronized (this) {
            long seen = now();
            turn = LockWord.turn(seen);
            node = LockWord.count(seen) == 0 ? null : waiters.remove(turn);
            forgetPassed(seen);
            if (node == null) {
                return; // the lock is free, or the node will report, or the audit finds the ticket
            }
            notified = turn;
            notifiedNode = node;
        }
        notifyTurn(node, turn);
    }

    /** Forgets the waiters whose turns are over: the lock may pass on without this home. */
    @GuardedBy("this")
    private void forgetPassed(long seen) {
        waiters.headMap(LockWord.turn(seen)).clear();
        if (waiters.isEmpty()) {
            unmark(seen);
        }
    }

    @GuardedBy("this")
    private void unmark(long seen) {
        for (long now = seen; LockWord.isQueued(now) && !LockWord.isDead(now); ) {
            long before = word.testSet(now, LockWord.notQueued(now), word.deadline(CALL));
            if (before == now) {
                return;
            }
            now = before;
        }
    }

    private void notifyTurn(int node, long turn) {
        try {
            executor.execute(() -> {
                counters.turnSent();
                try {
                    if (calls.turn(node, word.ref(), turn, Deadline.in(CALL)) == Claim.UNKNOWN
                            && cluster.isSettled(node)) {
                        passOver(turn);
                    }
                } catch (LiteException e) {
                    log.debug("lock {}: the audit will notify node {}: {}", word.ref(), node, e.getMessage());
                }
            });
        } catch (RejectedExecutionException e) {
            log.debug("lock {}: the node stops", word.ref());
        }
    }

    private void passOver(long ticket) {
        if (word.pass(ticket, word.deadline(CALL)) != SyncWord.NOT_PASSED) {
            counters.passedOver();
            tellNext();
        }
    }

    /**
     * A try found the lock taken. It has no ticket that would wait, but it needs the audit as much: nobody may hold the
     * lock any more.
     */
    synchronized void tried() {
        tried = true;
    }

    /** Whether any ticket waits, or a try found the lock taken, so that audits are needed. */
    synchronized boolean isWaitedFor() {
        return tried || !waiters.isEmpty();
    }

    /** Handles one clock tick: starts an audit when it is due. */
    void tick() {
        synchronized (this) {
            if (!isWaitedFor() || auditing) {
                return;
            }
            long seen = now();
            forgetPassed(seen);
            if (!isWaitedFor()) {
                return;
            }
            long turn = LockWord.turn(seen);
            if (turn != auditedTurn) {
                auditedTurn = turn;
                ticksApart = 1;
                ticksLeft = 1;
            }
            if (--ticksLeft >= 0) {
                return;
            }
            ticksApart = Math.min(AUDIT_TICKS_MAX, 2 * ticksApart);
            ticksLeft = ticksApart;
            auditing = true;
            tried = false;
        }
        boolean started = false;
        try {
            executor.execute(this::audit);
            started = true;
        } catch (RejectedExecutionException e) {
            log.debug("lock {}: the node stops", word.ref());
        } finally {
            if (!started) { // for example, no memory for a thread: a later tick tries again
                synchronized (this) {
                    auditing = false;
                    tried = true;
                }
            }
        }
    }

    private void audit() {
        try {
            // One ticket after the other: when nodes died with many waiters, the lock does not wait a tick for each.
            Deadline deadline = Deadline.in(CALL);
            for (long seen = now(); LockWord.count(seen) > 0 && !deadline.passed(); seen = now()) {
                long turn = LockWord.turn(seen);
                if (!isUnclaimed(turn)) {
                    return;
                }
                log.info("lock {}: no node claims ticket {}; passing it over", word.ref(), turn);
                passOver(turn);
            }
        } catch (LiteException e) {
            log.debug("lock {}: the audit failed and will be retried: {}", word.ref(), e.getMessage());
        } finally {
            synchronized (this) {
                auditing = false;
            }
        }
    }

    /** Asks the node that was notified of the turn or waits with the ticket; if none is known, asks every node. */
    private boolean isUnclaimed(long turn) {
        int node = nodeOf(turn);
        if (node != NOBODY && cluster.isConnected(node)) {
            return calls.turn(node, word.ref(), turn, Deadline.in(CALL)) == Claim.UNKNOWN && cluster.isSettled(node);
        }
        Deadline deadline = Deadline.in(CALL);
        for (int other : cluster.nodes(deadline)) {
            if (node == NOBODY || node == other) {
                Claim claim = calls.turn(other, word.ref(), turn, Deadline.in(CALL));
                if (claim == Claim.TAKEN) {
                    note(turn, other);
                }
                if (claim != Claim.UNKNOWN || !cluster.isSettled(other)) {
                    return false;
                }
            }
        }
        return true;
    }

    private synchronized int nodeOf(long turn) {
        @Nullable Integer waiting = waiters.remove(turn);
        if (waiting != null) {
            note(turn, waiting);
        }
        return notified == turn ? notifiedNode : NOBODY;
    }

    private synchronized void note(long turn, int node) {
        notified = turn;
        notifiedNode = node;
    }
}
