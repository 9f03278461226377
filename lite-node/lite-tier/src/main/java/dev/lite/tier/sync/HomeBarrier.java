package dev.lite.tier.sync;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LtSync;
import dev.lite.os.waiting.Counts;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.sync.SyncCalls.BarrierStatus;
import dev.lite.tier.sync.SyncCalls.Stage;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The open round of a barrier whose word lies on this node. The word is the round's number, so a restarted home
 * continues with it, and the waiting parties report again. An arrival names its round, so a late one is never counted
 * for another round.
 *
 * <p>Limit: {@value #FINISHED_MAX} + 1 rounds of at most {@link LtSync#PARTIES_MAX} parties.
 */
final class HomeBarrier {
    private static final Logger log = LoggerFactory.getLogger(HomeBarrier.class);
    private static final Duration CALL = Duration.ofSeconds(2);

    /** Number of finished rounds whose outcome is kept for parties that missed the message. */
    private static final int FINISHED_MAX = 4;

    private static final int AUDIT_TICKS = 5;

    /** Marks a dead word. */
    private static final long DEAD = Long.MIN_VALUE;

    private final SyncWord word;
    private final SyncCalls calls;
    private final ClusterView cluster;
    private final Executor executor;

    @GuardedBy("this")
    private Round open;

    @GuardedBy("this")
    private final ArrayDeque<Round> finished = new ArrayDeque<>();

    @GuardedBy("this")
    private int ticks;

    @GuardedBy("this")
    private boolean auditing;

    @GuardedBy("this")
    private boolean retired;

    @GuardedBy("this")
    private CompletableFuture<Void> notifying = CompletableFuture.completedFuture(null);

    /** One round: its parties, each with its node, and its outcome once it is over. */
    private static final class Round {
        final long number;
        final Map<Long, Integer> members = new HashMap<>();
        /** Parties that gave up before their arrival came; it may still come. The last ones, as many as a round may have. */
        final Set<Long> left = new LinkedHashSet<>();

        int parties;

        @Nullable
        BarrierStatus outcome;

        Round(long number) {
            this.number = number;
        }
    }

    HomeBarrier(SyncWord word, SyncCalls calls, ClusterView cluster, Executor executor) {
        this.word = word;
        this.calls = calls;
        this.cluster = cluster;
        this.executor = executor;
        this.open = new Round(word.fetchAdd(0, word.deadline(CALL)));
    }

    SyncWord word() {
        return word;
    }

    /**
     * Ends the word, unless a party waits: sets its highest bit. No round of this word begins any more; the numbers of
     * rounds start again with the next word of the name.
     */
    synchronized boolean retire() {
        if (!open.members.isEmpty()) {
            return false;
        }
        retired = word.testSet(open.number, open.number | DEAD, word.deadline(CALL)) == open.number;
        return retired;
    }

    @GuardedBy("this")
    private void requireAlive() {
        if (retired) {
            throw new LmrFreedException(
                    "the word of the barrier %d is dead".formatted(word.ref().lmrId()));
        }
    }

    synchronized BarrierStatus arrive(int node, long round, int parties, long party) {
        requireAlive();
        if (round != open.number) {
            return status(round, party);
        }
        if (open.left.contains(party)) {
            return new BarrierStatus(Stage.BROKEN, round, "the party gave up before its arrival came");
        }
        if (open.members.isEmpty()) {
            open.parties = parties;
        }
        open.members.put(party, node);
        if (open.parties != parties) {
            return finish(Stage.BROKEN, "it was named with %d and with %d parties".formatted(open.parties, parties));
        }
        return open.members.size() == parties ? finish(Stage.PASSED, "") : new BarrierStatus(Stage.WAITS, round, "");
    }

    synchronized BarrierStatus leave(long round, long party, String reason) {
        requireAlive();
        if (round == open.number && open.members.containsKey(party)) {
            return finish(Stage.BROKEN, reason);
        }
        if (round == open.number && open.left.add(party) && open.left.size() > LtSync.PARTIES_MAX) {
            open.left.remove(open.left.iterator().next());
        }
        return status(round, party);
    }

    @GuardedBy("this")
    private BarrierStatus status(long round, long party) {
        String reason = "its home does not know any more how it ended";
        for (Round past : finished) {
            if (past.number == round && past.outcome != null) {
                if (past.members.containsKey(party)) {
                    return past.outcome;
                }
                reason = "";
            }
        }
        return new BarrierStatus(Stage.OTHER_ROUND, open.number, reason);
    }

    /** Called under the monitor, so that the next round is open before the nodes learn the outcome. */
    @GuardedBy("this")
    private BarrierStatus finish(Stage stage, String reason) {
        Round past = open;
        BarrierStatus outcome = new BarrierStatus(stage, past.number, reason);
        past.outcome = outcome;
        word.fetchAdd(1, word.deadline(CALL));
        open = new Round(past.number + 1);
        finished.add(past);
        if (finished.size() > FINISHED_MAX) {
            finished.remove();
        }
        for (int node : new TreeSet<>(past.members.values())) {
            notifyNode(node, outcome);
        }
        return outcome;
    }

    @GuardedBy("this")
    private void notifyNode(int node, BarrierStatus outcome) {
        assert Thread.holdsLock(this);
        try {
            CompletableFuture<Void> notified = CompletableFuture.runAsync(
                    () -> {
                        try {
                            calls.over(node, word.ref(), outcome, Deadline.in(CALL));
                        } catch (LiteException e) {
                            log.debug("barrier {}: node {} will ask: {}", word.ref(), node, e.getMessage());
                        }
                    },
                    executor);
            notifying = notifying.isDone() ? notified : CompletableFuture.allOf(notifying, notified);
        } catch (RejectedExecutionException e) {
            log.debug("barrier {}: the node stops", word.ref());
        }
    }

    /**
     * Waits until every reachable node was notified of the finished rounds. The word is about to move, and its next
     * home does not know these rounds.
     */
    void awaitNotified() {
        CompletableFuture<Void> last;
        synchronized (this) {
            last = notifying;
        }
        last.join(); // every call has a deadline
    }

    /** Whether any party waits, so that audits are needed. */
    synchronized boolean isWaitedFor() {
        return !open.members.isEmpty();
    }

    /** Handles one clock tick: audits the parties at intervals. */
    void tick() {
        synchronized (this) {
            if (open.members.isEmpty() || auditing || ++ticks < AUDIT_TICKS) {
                return;
            }
            ticks = 0;
            auditing = true;
        }
        boolean started = false;
        try {
            executor.execute(this::audit);
            started = true;
        } catch (RejectedExecutionException e) {
            log.debug("barrier {}: the node stops", word.ref());
        } finally {
            if (!started) { // for example, no memory for a thread: a later tick tries again
                endAudit();
            }
        }
    }

    private synchronized void endAudit() {
        auditing = false;
    }

    private void audit() {
        try {
            long round;
            Map<Integer, Integer> counts = new TreeMap<>();
            synchronized (this) {
                round = open.number;
                open.members.values().forEach(node -> counts.merge(node, 1, Integer::sum));
            }
            for (Map.Entry<Integer, Integer> expected : counts.entrySet()) {
                String missing = missing(expected.getKey(), round, expected.getValue());
                if (missing != null) {
                    breakRound(round, missing);
                    return;
                }
            }
        } catch (LiteException e) {
            log.debug("barrier {}: the audit failed and will be retried: {}", word.ref(), e.getMessage());
        } finally {
            endAudit();
        }
    }

    /** The reason why a node no longer has all of its parties, or null. */
    private @Nullable String missing(int node, long round, int expected) {
        Deadline deadline = Deadline.in(CALL);
        if (!cluster.isConnected(node)) {
            Set<Integer> nodes = cluster.nodes(deadline);
            return nodes.contains(node)
                    ? null
                    : "node %s with %s is gone"
                            .formatted(cluster.nameOf(node), Counts.text(expected, "party", "parties"));
        }
        int away = expected - calls.parties(node, word.ref(), round, deadline);
        return away <= 0
                ? null
                : "%d of %s of node %s %s not wait any more"
                        .formatted(
                                away,
                                Counts.text(expected, "party", "parties"),
                                cluster.nameOf(node),
                                away == 1 ? "does" : "do");
    }

    private synchronized void breakRound(long round, String reason) {
        if (round == open.number && !open.members.isEmpty()) {
            finish(Stage.BROKEN, reason);
        }
    }
}
