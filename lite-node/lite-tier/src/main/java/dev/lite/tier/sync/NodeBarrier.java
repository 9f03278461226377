package dev.lite.tier.sync;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.BarrierBrokenException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.sync.SyncCalls.BarrierStatus;
import dev.lite.tier.sync.SyncCalls.Stage;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One node's view of a barrier: the parties that wait on this node. Each party reports its arrival to the home. When a
 * round is over, the home notifies the node once, and the node wakes all parties.
 *
 * <p>Limit: {@link dev.lite.api.LtSync#PARTIES_MAX} parties at once.
 */
final class NodeBarrier implements WordUser {
    /** Interval at which a party reports to the home again, in case the home restarted. */
    private static final Duration ARRIVE_AGAIN = Duration.ofSeconds(2);

    private static final long ARRIVE_RETRY_NS = TimeUnit.MILLISECONDS.toNanos(20);

    /** A party reserves a tenth of its timeout, at most this, to report to the home that it leaves. */
    private static final long LEAVE_NS_MAX = TimeUnit.MILLISECONDS.toNanos(50);

    /** Number of finished rounds whose outcome is kept for parties that still wait for the answer to their arrival. */
    private static final int OVER_MAX = 8;

    private final String name;
    private final SyncWord word;
    private final SyncCalls calls;
    private final AtomicLong partyIds;

    @GuardedBy("this")
    private final Map<Long, Party> here = new HashMap<>();

    @GuardedBy("this")
    private long round;

    /** How often the word moved to another home; changed under the monitor, read without it. */
    private volatile int homeMoves;

    private final Map<Long, BarrierStatus> over = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, BarrierStatus> eldest) {
            return size() > OVER_MAX;
        }
    };

    /** One waiting thread. */
    private static final class Party {
        final long id;
        final SessionSync session;
        final Thread thread = Thread.currentThread();
        // Guarded by the barrier.
        long round;
        boolean counted; // the home confirmed the arrival
        boolean unanswered; // the answer to an arrival for this round was lost: the home may have counted it
        // Written under the barrier's monitor.
        volatile @Nullable BarrierStatus outcome;
        volatile boolean ended; // its session has ended

        Party(long id, SessionSync session, long round) {
            this.id = id;
            this.session = session;
            this.round = round;
        }
    }

    /** @param partyIds generates numbers that no party in the cluster has had */
    NodeBarrier(String name, SyncWord word, SyncCalls calls, AtomicLong partyIds) {
        this.name = name;
        this.word = word;
        this.calls = calls;
        this.partyIds = partyIds;
        this.round = word.valueAtOpen();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public SyncWord word() {
        return word;
    }

    @Override
    public void wordDied() {
        // A word dies only while no party is counted. Parties of this node find it out when they report to the home.
    }

    /** Whether no party waits on this node. */
    @Override
    public synchronized boolean isIdle() {
        return here.isEmpty();
    }

    /**
     * Waits for a round.
     *
     * @throws LmrFreedException if the word was removed; the barrier must be opened by its name again
     * @throws GivenUpException likewise if the session has given the barrier up
     */
    long await(BarrierUser user, int parties, Deadline deadline) {
        Party party = enter(user, parties);
        try {
            BarrierStatus outcome = await(party, parties, deadline);
            if (outcome == null) {
                outcome = leave(party, "a party gave up at its deadline of " + deadline, deadline);
                if (outcome == null || outcome.stage() != Stage.PASSED) {
                    throw new LiteTimeoutException(
                            deadline.expired("waiting for %d parties at barrier \"%s\"".formatted(parties, name)));
                }
            }
            if (outcome.stage() == Stage.BROKEN) {
                throw broken(outcome);
            }
            return outcome.round();
        } finally {
            synchronized (this) {
                here.remove(party.id);
            }
        }
    }

    private BarrierBrokenException broken(BarrierStatus outcome) {
        return new BarrierBrokenException(
                "barrier \"%s\", round %d: %s".formatted(name, outcome.round(), outcome.reason()));
    }

    private synchronized Party enter(BarrierUser user, int parties) {
        user.requireUsed();
        if (here.size() >= dev.lite.api.LtSync.PARTIES_MAX) {
            throw new LimitExceededException("barrier \"%s\": %d parties of %d wait at this node; the limit is %d"
                    .formatted(name, here.size(), parties, dev.lite.api.LtSync.PARTIES_MAX));
        }
        Party party = new Party(partyIds.incrementAndGet(), user.session(), round);
        here.put(party.id, party);
        return party;
    }

    /** The outcome of the round; null if the party must give up. */
    private @Nullable BarrierStatus await(Party party, int parties, Deadline deadline) {
        long reserveNs = Math.min(LEAVE_NS_MAX, deadline.remainingNs() / 10);
        long arriveAtNs = System.nanoTime();
        int home = homeMoves;
        while (true) {
            BarrierStatus outcome = party.outcome;
            if (outcome != null) {
                return outcome;
            }
            if (party.ended) {
                leaveQuietly(party, "the session of a party ended");
                throw party.session.ended();
            }
            if (Thread.interrupted()) {
                leaveQuietly(party, "a party was interrupted");
                Thread.currentThread().interrupt();
                throw new LmrUnavailableException("interrupted while waiting at barrier \"%s\"".formatted(name));
            }
            long leftNs = deadline.remainingNs() - reserveNs;
            if (leftNs <= 0) {
                return null;
            }
            long untilArriveNs = arriveAtNs - System.nanoTime();
            if (untilArriveNs > 0 && home == homeMoves) {
                LockSupport.parkNanos(this, Math.min(leftNs, untilArriveNs));
                continue;
            }
            home = homeMoves;
            long againNs = arrive(party, parties, Deadline.in(Duration.ofNanos(leftNs)));
            arriveAtNs = System.nanoTime() + againNs;
        }
    }

    /** Reports to the home; returns the nanoseconds until the next report. */
    private long arrive(Party party, int parties, Deadline left) {
        word.followMove(left);
        Deadline ofCall = left.remaining().compareTo(ARRIVE_AGAIN) > 0 ? Deadline.in(ARRIVE_AGAIN) : left;
        try {
            return arrived(
                    party,
                    calls.arrive(word.ref(), party.round, parties, party.id, () -> noteUnanswered(party), ofCall));
        } catch (LmrUnavailableException e) {
            throw e;
        } catch (LmrFreedException e) {
            if (!breakIfPerhapsCounted(party, "its home no longer has it, and does not know how it ended")) {
                throw e;
            }
            return 0;
        } catch (LiteException e) {
            return ARRIVE_RETRY_NS; // until the deadline
        }
    }

    private synchronized void noteUnanswered(Party party) {
        party.unanswered = true;
    }

    /** Records the home's answer; returns the nanoseconds until the next report. */
    private synchronized long arrived(Party party, BarrierStatus answer) {
        switch (answer.stage()) {
            case WAITS -> {
                party.counted = true;
                BarrierStatus missed = over.get(party.round); // the outcome overtook this answer
                if (missed != null && party.outcome == null) {
                    party.outcome = missed;
                }
            }
            case PASSED, BROKEN -> {
                round = Math.max(round, answer.round() + 1);
                party.outcome = answer;
            }
            case OTHER_ROUND -> {
                round = Math.max(round, answer.round());
                boolean isKnown = answer.reason().isEmpty(); // then it did not count an arrival whose answer was lost
                party.unanswered &= !isKnown;
                if (!breakIfPerhapsCounted(
                        party, isKnown ? "its home was restarted, and does not know how it ended" : answer.reason())) {
                    party.round = answer.round();
                    return 0;
                }
            }
            case LEAVES -> {
                return ARRIVE_RETRY_NS;
            }
        }
        return ARRIVE_AGAIN.toNanos();
    }

    /**
     * Breaks the round of a party that a home has counted, or may have counted; false for any other party. That round may have passed.
     * So the party must not join the next one: the others would pass it before this party has done its part for it.
     */
    private synchronized boolean breakIfPerhapsCounted(Party party, String reason) {
        boolean perhapsCounted = party.counted || party.unanswered;
        if (perhapsCounted && party.outcome == null) {
            party.outcome = new BarrierStatus(Stage.BROKEN, party.round, reason);
        }
        return perhapsCounted;
    }

    private @Nullable BarrierStatus leave(Party party, String reason, Deadline deadline) {
        try {
            BarrierStatus answer = calls.leave(word.ref(), party.round, party.id, reason, deadline);
            return answer.stage() == Stage.OTHER_ROUND ? null : answer;
        } catch (LiteException e) {
            return party.outcome; // the home's audit detects that this party is gone
        }
    }

    private void leaveQuietly(Party party, String reason) {
        leave(party, reason, Deadline.in(Duration.ofNanos(LEAVE_NS_MAX)));
    }

    /** Handles the home's message that a round is over. */
    synchronized void over(BarrierStatus outcome) {
        round = Math.max(round, outcome.round() + 1);
        over.put(outcome.round(), outcome);
        for (Party party : here.values()) {
            if (party.round == outcome.round() && party.counted && party.outcome == null) {
                party.outcome = outcome;
                LockSupport.unpark(party.thread);
            }
        }
    }

    /** Number of parties on this node that may be counted for a round. */
    synchronized int parties(long ofRound) {
        return (int)
                here.values().stream().filter(party -> party.round == ofRound).count();
    }

    /** The word moved to another home, which does not know the waiters yet: wakes them to report to it. */
    @Override
    public synchronized void homeMoved() {
        homeMoves++;
        here.values().forEach(party -> LockSupport.unpark(party.thread));
    }

    /** Ends all waits of a session that has ended. */
    synchronized void endWaits(SessionSync session) {
        for (Party party : here.values()) {
            if (party.session == session) {
                party.ended = true;
                LockSupport.unpark(party.thread);
            }
        }
    }
}
