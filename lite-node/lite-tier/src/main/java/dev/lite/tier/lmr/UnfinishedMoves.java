package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Move;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.LmrRecord.State;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves that have begun and not ended. Knows which LMRs this node moves, waits for the end of the moves of live movers,
 * and undoes those that failed or whose mover died.
 *
 * <p>The mover ({@link Moves}) enters and leaves its moves, and settles those that fail. Everybody else who meets a
 * MOVING record waits here for its end. Any thread; blocks up to the deadline. There is no lock: every change of a
 * record is a compare-and-set, so of two threads that undo one move only one succeeds.
 */
public final class UnfinishedMoves {
    private static final Logger log = LoggerFactory.getLogger(UnfinishedMoves.class);

    /** The time for an attempt to read the record of a failed move and to change it. */
    static final Duration UNDO = Duration.ofSeconds(5);

    private static final long PAUSE_NS = 5_000_000;
    private static final long UNDO_PAUSE_NS = 200_000_000;

    private final NodeRecord self;
    private final LmrRecords records;
    private final Mappers mappers;
    private final WorkCalls work;
    private final Reclaimer reclaimer;
    private final Executor executor;

    /** The LMRs that this node is moving. Bounded by the callers, because each of them waits. */
    private final Set<Long> moving = ConcurrentHashMap.newKeySet();

    /** @param executor of virtual threads */
    UnfinishedMoves(
            NodeRecord self,
            LmrRecords records,
            Mappers mappers,
            WorkCalls work,
            Reclaimer reclaimer,
            Executor executor) {
        this.self = self;
        this.records = records;
        this.mappers = mappers;
        this.work = work;
        this.reclaimer = reclaimer;
        this.executor = executor;
    }

    /** The caller is going to move an LMR, and calls {@link #end} next. First waits for another move of it by this node. */
    void begin(long id, Deadline deadline) {
        if (!Polling.until(() -> moving.add(id), deadline, PAUSE_NS)) {
            throw new LiteTimeoutException(deadline.expired("waiting for another move of LMR " + id));
        }
    }

    /** The caller no longer moves an LMR. */
    void end(long id) {
        moving.remove(id);
    }

    /** Whether this node moves an LMR: from before it allocates memory until the record has that memory, or it is given back. */
    public boolean isMoving(long id) {
        return moving.contains(id);
    }

    /**
     * Returns the record of an LMR that is not moving. Waits for the end of a move, and undoes an abandoned move.
     *
     * @throws LmrFreedException if the LMR was freed
     */
    LmrRecords.Found awaitSettled(@Nullable String name, long id, Deadline deadline) {
        return awaitSettled(name, id, false, deadline);
    }

    /**
     * {@link #awaitSettled(String, long, Deadline)}.
     *
     * @param own whether the caller has called {@link #begin} for the LMR, and its own move is not in the record yet
     */
    LmrRecords.Found awaitSettled(@Nullable String name, long id, boolean own, Deadline deadline) {
        while (true) {
            LmrRecords.Found found = records.find(name, id, deadline)
                    .filter(current -> current.lmr().state() != State.FREEING)
                    .orElseThrow(() -> new LmrFreedException(
                            "LMR %d: it was freed by a master, or because its creator ended".formatted(id)));
            Move move = found.lmr().move();
            if (move == null) {
                return found;
            }
            if (isAbandoned(id, move, own)) {
                boolean unused = undo(name, found, null, deadline); // if not, the loop reads the record again
            } else if (deadline.passed()) {
                throw new LiteTimeoutException(deadline.expired("waiting for the end of the move of LMR " + id));
            } else {
                Polling.sleepNs(PAUSE_NS);
            }
        }
    }

    /** Undoes an abandoned move; otherwise does nothing. */
    void undoIfAbandoned(@Nullable String name, long id, Deadline deadline) {
        while (true) {
            Optional<LmrRecords.Found> found = records.find(name, id, deadline);
            Move move = found.isPresent() ? found.get().lmr().move() : null;
            if (move == null || !isAbandoned(id, move, false) || undo(name, found.get(), null, deadline)) {
                return;
            }
            if (deadline.passed()) {
                throw new LiteTimeoutException(deadline.expired("undoing the move of LMR " + id));
            }
        }
    }

    /** Whether a move has no live mover: its mover is fenced, or is this node and has no such move. */
    private boolean isAbandoned(long id, Move move, boolean own) {
        if (move.node() == self.id() && move.incarnation() == mappers.ownIncarnation()) {
            return own || !moving.contains(id);
        }
        return mappers.isFenced(move.node(), move.incarnation());
    }

    /**
     * Settles a failed move, now or as soon as the record can be read and changed. Others wait for it: they undo a move
     * only once its mover is fenced.
     *
     * @param fresh the new memory
     * @param left the memory that the LMR has left, if the last change of the record has succeeded after all
     */
    void settle(
            @Nullable String name,
            long id,
            Move move,
            List<Share> fresh,
            List<Share> left,
            List<CompletableFuture<@Nullable Void>> copies) {
        if (trySettle(name, id, move, fresh, left, copies)) {
            return;
        }
        log.warn("the move of lmr={} failed and is not undone yet; trying again", id);
        try {
            executor.execute(() -> {
                // Later, a record without the move tells nothing about the memory: the scan for orphans frees it.
                while (!trySettle(name, id, move, List.of(), List.of(), copies)) {
                    Polling.sleepNs(UNDO_PAUSE_NS);
                    if (Thread.currentThread().isInterrupted()) {
                        return; // this node stops
                    }
                }
            });
        } catch (RejectedExecutionException e) {
            log.debug("the move of lmr={} is not undone: this node stops", id);
        }
    }

    /**
     * Settles a failed move: the record decides whether its last change succeeded after all.
     *
     * @return false if the directory or another node does not answer, or the record changed meanwhile: the move may still be in it
     */
    private boolean trySettle(
            @Nullable String name,
            long id,
            Move move,
            List<Share> fresh,
            List<Share> left,
            List<CompletableFuture<@Nullable Void>> copies) {
        Deadline deadline = Deadline.in(UNDO);
        try {
            Optional<LmrRecords.Found> found = records.find(name, id, deadline);
            if (found.isEmpty()) {
                return true; // freed; its reclamation frees the memory at both places
            }
            LmrRecord current = found.get().lmr();
            if (move.equals(current.move())) {
                return undo(name, found.get(), copies, deadline);
            }
            if (current.move() == null && current.shares().equals(move.shares())) { // done after all
                if (!left.isEmpty()) {
                    reclaimer.giveBackLater(current, left);
                }
                return true;
            }
            // The request that begins the move may still be on its way. A new version makes it fail.
            if (current.move() == null && !records.replace(name, found.get(), current, deadline)) {
                return false;
            }
            if (!fresh.isEmpty() && !current.shares().equals(move.shares())) {
                whenOver(copies, () -> reclaimer.giveBackLater(current, fresh));
            }
            return true;
        } catch (LiteException e) {
            log.debug("the move of lmr={} is not undone yet: {}", id, e.getMessage());
            return false;
        } catch (RuntimeException | Error e) { // else nobody undoes it while this node lives
            Unrecoverable.report(e);
            log.warn("the move of lmr={} is not undone yet", id, e);
            return false;
        }
    }

    /**
     * Undoes a move.
     *
     * @param copies the copies that its mover started, or null if not known: then this asks the nodes that copy
     * @return false if the record has changed since it was found
     */
    private boolean undo(
            @Nullable String name,
            LmrRecords.Found found,
            @Nullable List<CompletableFuture<@Nullable Void>> copies,
            Deadline deadline) {
        LmrRecord lmr = found.lmr();
        Move move = Objects.requireNonNull(lmr.move());
        if (copies == null) {
            quiesce(lmr, move.node(), deadline);
        }
        boolean undone = records.replace(name, found, lmr.withState(State.LIVE), deadline);
        if (undone) {
            List<Share> fresh = LmrPlaces.without(move.shares(), lmr.shares());
            whenOver(copies == null ? List.of() : copies, () -> reclaimer.giveBackLater(lmr, fresh));
            log.info(
                    "the move of lmr={} to nodes {} was undone",
                    lmr.id(),
                    fresh.stream().map(Share::node).toList());
            mappers.notifyReachable(name, lmr.id(), deadline);
        }
        return undone;
    }

    /** Waits until the nodes that copy for a dead mover have finished. */
    private void quiesce(LmrRecord lmr, int mover, Deadline deadline) {
        for (Share share : lmr.shares()) {
            int node = share.node();
            if (!Polling.until(
                    () -> mappers.isGone(node, deadline) || work.isQuiet(node, mover, deadline), deadline, PAUSE_NS)) {
                throw new LiteTimeoutException(deadline.expired(
                        "waiting until node %s copies no more of LMR %d".formatted(mappers.nameOf(node), lmr.id())));
            }
        }
    }

    private static void whenOver(List<CompletableFuture<@Nullable Void>> copies, Runnable then) {
        CompletableFuture<?> unused = CompletableFuture.allOf(copies.toArray(new CompletableFuture<?>[0]))
                .whenComplete((none, error) -> then.run());
    }
}
