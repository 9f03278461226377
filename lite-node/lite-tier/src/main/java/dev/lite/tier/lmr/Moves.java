package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Move;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.Layout;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves LMRs (paper §4.1, architecture §5 and §6). The record is the source of truth: every change is a compare-and-set
 * on it, and the mappers follow it. Called for masters by {@link MasterOperations}, and for operators. Any thread, also
 * for one LMR: {@link UnfinishedMoves} lets one of them in. Blocks up to the deadline.
 *
 * <p>The steps of a move:
 *
 * <ol>
 *   <li>the mover allocates memory at the new place;
 *   <li>it sets the record to MOVING, with the new place;
 *   <li>every mapper pauses its handles;
 *   <li>the nodes that hold the bytes copy them;
 *   <li>the mover sets the record to LIVE at the new place;
 *   <li>it notifies the mappers and frees the old memory.
 * </ol>
 *
 * <p>If a step fails before the record is LIVE at the new place, the mover sets it to LIVE at the old place. It frees
 * the new memory once no copy to it can be in flight. If the mover died, a node that meets the MOVING record undoes the
 * move ({@link UnfinishedMoves}).
 */
public final class Moves {
    private static final Logger log = LoggerFactory.getLogger(Moves.class);

    private final NodeRecord self;
    private final ClusterDirectory directory;
    private final LmrRecords records;
    private final Mappers mappers;
    private final UnfinishedMoves unfinished;
    private final MoveCopier copier;
    private final ShareAllocation allocation;
    private final Reclaimer reclaimer;

    Moves(
            NodeRecord self,
            ClusterDirectory directory,
            LmrRecords records,
            Mappers mappers,
            UnfinishedMoves unfinished,
            MoveCopier copier,
            ShareAllocation allocation,
            Reclaimer reclaimer) {
        this.self = self;
        this.directory = directory;
        this.records = records;
        this.mappers = mappers;
        this.unfinished = unfinished;
        this.copier = copier;
        this.allocation = allocation;
        this.reclaimer = reclaimer;
    }

    /**
     * The target of a move: the current shares that stay, and the new shares.
     *
     * @param chunkShift of the LMR after the move; unchanged if a share stays
     * @param shares of the LMR after the move; a share that stays keeps its index
     */
    public record Target(int chunkShift, List<Share> shares) {}

    /** Chooses the target of a move and allocates the memory there. */
    public interface Destination {
        /** Returns the target; empty if the LMR lies there already. */
        Optional<Target> of(LmrRecord lmr, Deadline deadline);

        /**
         * Whether the move should still happen. Checked after every copied piece and before the last change of the record; a
         * move that is no longer wanted is undone. Any thread; must not block.
         */
        default boolean isWanted() {
            return true;
        }
    }

    /** See {@link dev.lite.api.LmrHandle#moveTo}. Without a master, the node moves the LMR for an operator. */
    public void move(@Nullable String name, long id, @Nullable String master, String nodeName, Deadline deadline) {
        move(name, id, master, to(id, nodeName, master != null), deadline);
    }

    /** {@link #move(String, long, String, String, Deadline)} for an operator, as long as it is wanted. */
    public void move(@Nullable String name, long id, String nodeName, BooleanSupplier wanted, Deadline deadline) {
        Destination destination = to(id, nodeName, false);
        move(name, id, null, whileWanted(destination, wanted), deadline);
    }

    /** The destination, for a move that may be cancelled; see {@link Destination#isWanted}. */
    public static Destination whileWanted(Destination destination, BooleanSupplier wanted) {
        return new Destination() {
            @Override
            public Optional<Target> of(LmrRecord lmr, Deadline deadline) {
                return destination.of(lmr, deadline);
            }

            @Override
            public boolean isWanted() {
                return wanted.getAsBoolean();
            }
        };
    }

    /** @param limited whether the owner's limit applies at the target: true for a master, false for an operator */
    private Destination to(long id, String nodeName, boolean limited) {
        int node = directory.nodes().stream()
                .filter(live -> live.name().equals(nodeName))
                .findFirst()
                .orElseThrow(() -> new NodeUnreachableException(
                        "LMR %d cannot move: node \"%s\" is not a live node".formatted(id, nodeName)))
                .id();
        return (lmr, until) -> wholeAt(lmr, node, limited, until);
    }

    private Optional<Target> wholeAt(LmrRecord lmr, int node, boolean limited, Deadline deadline) {
        if (lmr.shares().stream().allMatch(share -> share.node() == node)) {
            return Optional.empty();
        }
        int chunkShift = Layout.chunkShift(lmr.size(), 1);
        PrincipalBytes.Charge charge = new PrincipalBytes.Charge(lmr.owner(), limited);
        List<Share> target = allocation.allocate(
                new ShareAllocation.Demand(lmr.id(), lmr.size(), chunkShift, charge), List.of(node), deadline);
        return Optional.of(new Target(chunkShift, target));
    }

    /** Moves an LMR. First waits for another move of it by this node. */
    public void move(
            @Nullable String name, long id, @Nullable String master, Destination destination, Deadline deadline) {
        unfinished.begin(id, deadline);
        try {
            moveAlone(name, id, master, destination, deadline);
        } finally {
            unfinished.end(id);
        }
    }

    /** Moves an LMR while no other thread of this node moves it. */
    private void moveAlone(
            @Nullable String name, long id, @Nullable String master, Destination destination, Deadline deadline) {
        LmrRecord before = unfinished.awaitSettled(name, id, true, deadline).lmr();
        if (master != null) {
            LmrRecords.requireMaster(before, master, "moving");
        }
        // Before the allocation: memory that a former registration allocated may have been freed since.
        long incarnation = mappers.ownIncarnation();
        Optional<Target> chosen = destination.of(before, deadline);
        if (chosen.isEmpty()) {
            return;
        }
        Target target = chosen.get();
        List<Share> fresh = LmrPlaces.without(target.shares(), before.shares());
        Move move = new Move(self.id(), incarnation, target.chunkShift(), target.shares());
        Collection<CompletableFuture<@Nullable Void>> copies = new ConcurrentLinkedQueue<>();
        List<Share> left = List.of();
        boolean begun = false;
        boolean done = false;
        try {
            LmrRecords.Found found = unfinished.awaitSettled(name, id, true, deadline);
            if (master != null) {
                LmrRecords.requireMaster(found.lmr(), master, "moving");
            }
            begun = true; // even if the answer is lost
            if (!found.lmr().shares().equals(before.shares())
                    || !records.replace(name, found, found.lmr().withMove(move), deadline)) {
                begun = false;
                throw new LmrUnavailableException("LMR %d changed before its move began; try again".formatted(id));
            }
            mappers.notifyOfChange(name, id, deadline);
            LmrRecords.Found held = mine(name, id, move, deadline);
            copier.copyAll(name, move, held.lmr(), destination, copies, deadline);
            LmrRecords.Found copied = mine(name, id, move, deadline);
            MoveCopier.requireWanted(destination, id);
            before = copied.lmr();
            left = LmrPlaces.without(before.shares(), target.shares());
            try {
                done = records.replace(name, copied, before.moved(), deadline);
            } catch (LiteException lost) {
                if (!hasMoved(name, id, move, lost)) {
                    throw lost;
                }
                done = true;
            }
            if (!done) {
                throw new LmrUnavailableException("LMR %d changed during its move".formatted(id));
            }
        } finally {
            if (!begun) {
                reclaimer.giveBackLater(before, fresh);
            } else if (!done) {
                unfinished.settle(name, id, move, fresh, left, List.copyOf(copies));
            }
        }
        afterMove(name, before, left, deadline);
    }

    /**
     * Whether an LMR lies where a move was to bring it, after the answer to the last change of the move was lost. Then this move
     * has brought it: if the move had been undone, its place would have been freed, and another one has another name.
     */
    private boolean hasMoved(@Nullable String name, long id, Move move, LiteException lost) {
        try {
            return records.find(name, id, Deadline.in(UnfinishedMoves.UNDO))
                    .map(LmrRecords.Found::lmr)
                    .filter(current ->
                            current.move() == null && current.shares().equals(move.shares()))
                    .isPresent();
        } catch (LiteException unknown) {
            lost.addSuppressed(unknown);
            return false;
        }
    }

    /** The record, if this move is still in progress. */
    private LmrRecords.Found mine(@Nullable String name, long id, Move move, Deadline deadline) {
        return records.find(name, id, deadline)
                .filter(current -> move.equals(current.lmr().move()))
                .orElseThrow(() -> new LmrUnavailableException("LMR %d changed during its move".formatted(id)));
    }

    private void afterMove(@Nullable String name, LmrRecord before, List<Share> left, Deadline deadline) {
        if (!left.isEmpty()) { // every mapper is paused, and drops the old place before it resumes
            reclaimer.giveBackLater(before, left);
        }
        try {
            mappers.notifyOfChange(name, before.id(), deadline);
        } catch (LiteException e) {
            // The LMR has moved in any case. A mapper without notification reads the record itself when an operation
            // waits there.
            log.info("lmr={} moved; some mapper is not notified yet: {}", before.id(), e.getMessage());
        }
    }
}
