package dev.lite.tier.operator;

import dev.lite.api.LiteException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.lmr.LmrRecords;
import dev.lite.tier.lmr.LmrServices;
import dev.lite.tier.lmr.Moves;
import dev.lite.tier.lmr.NamedLmrs;
import dev.lite.tier.lmr.SyncWords;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.sync.SyncService;
import dev.lite.tier.sync.SyncWord;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Actions that this node executes for an operator, without a permission check. Any thread; blocks. */
public final class OperatorActions implements OrderExecutor.Actions {
    private static final Logger log = LoggerFactory.getLogger(OperatorActions.class);

    /** A move may take its deadline plus its bytes divided by this rate. Every fabric is faster. */
    private static final long BYTES_PER_SECOND_MIN = 50L << 20;

    private static final long ORPHANS_PAUSE_NS = 100_000_000;
    private static final long STAY_PAUSE_NS = 200_000_000;

    private final NodeRecord self;
    private final ArenaAllocator allocator;
    private final LmrServices lmrs;
    private final Relocation relocation;
    private final SyncService sync;
    private final Orphans orphans;
    private final Executor executor;
    private final Duration timeout;

    /** Words that leave this node, or whose moves failed and may have ended: the last attempt to move each, by LMR. */
    private final Map<Long, Object> leaving = new ConcurrentHashMap<>();

    /** Registers this node's handlers with the control channel. */
    public OperatorActions(
            NodeRecord self,
            ArenaAllocator allocator,
            LmrServices lmrs,
            Relocation relocation,
            SyncService sync,
            Orphans orphans,
            Executor executor,
            Duration timeout) {
        this.self = self;
        this.allocator = allocator;
        this.lmrs = lmrs;
        this.relocation = relocation;
        this.sync = sync;
        this.orphans = orphans;
        this.executor = executor;
        this.timeout = timeout;
        lmrs.calls().serveEvacuation((id, node, deadline) -> evacuate(null, id, node, () -> true, deadline));
    }

    private Deadline ofMove(long bytes) {
        return Deadline.in(timeout.plusSeconds(bytes / BYTES_PER_SECOND_MIN));
    }

    @Override
    public @Nullable String drain(boolean leaving, Drain.Progress progress, Deadline deadline) {
        if (!relocation.hasOthers(self.id())) {
            return Drain.NOBODY;
        }
        return new Drain(self, allocator, lmrs.records(), lmrs.named(), new FromHere(), executor, leaving)
                .run(progress, deadline);
    }

    /** Moves memory away from this node. */
    private final class FromHere implements Drain.Mover {
        @Override
        public boolean hasOthers() {
            return relocation.hasOthers(self.id());
        }

        @Override
        public Set<Integer> areGone(Set<Integer> nodes, Deadline deadline) {
            return lmrs.mappers().areGone(nodes, deadline);
        }

        @Override
        public void evacuate(@Nullable String name, long id, long bytes, BooleanSupplier wanted) {
            Deadline deadline = ofMove(bytes);
            if (name == null && !lmrs.records().isMine(id)) {
                lmrs.calls().evacuateAtCreator(id, self.id(), deadline);
            } else if (name != null && SyncWords.isWord(name)) {
                evacuateWord(name, id, wanted, deadline);
            } else {
                OperatorActions.this.evacuate(name, id, self.id(), wanted, deadline);
            }
        }
    }

    /** Moves the word of a lock or barrier away from this node, its home. */
    private void evacuateWord(String name, long id, BooleanSupplier wanted, Deadline deadline) {
        LmrRecord lmr = lmrs.records()
                .find(name, id, deadline)
                .map(LmrRecords.Found::lmr)
                .orElseThrow(() -> new LmrNotFoundException("the word %d is gone".formatted(id)));
        if (lmr.shares().getFirst().node() != self.id()) {
            return;
        }
        Object attempt = new Object();
        boolean moved = false;
        try {
            leaving.put(id, attempt);
            sync.leaveHome(SyncWord.ref(lmr)); // may fail after it has told callers to come again
            evacuate(name, id, self.id(), wanted, deadline);
            moved = true;
        } finally {
            if (moved) {
                leaving.remove(id, attempt);
            } else {
                stayIfHere(name, lmr, attempt);
            }
        }
    }

    /**
     * After the move of a word failed: this node is its home again if the word lies where it did before. The move may have lost only
     * its last answer. So while the directory does not tell, the word has no home. Nobody could use it then anyway: its mappings are
     * paused.
     */
    private void stayIfHere(String name, LmrRecord before, Object attempt) {
        if (tryToStay(name, before, attempt)) {
            return;
        }
        log.info("lmr={}: the directory does not tell whether it has moved; trying again", before.id());
        try {
            executor.execute(() -> {
                do {
                    Polling.sleepNs(STAY_PAUSE_NS);
                } while (!Thread.currentThread().isInterrupted() && !tryToStay(name, before, attempt));
            });
        } catch (RejectedExecutionException e) {
            log.debug("lmr={}: this node stops", before.id());
        }
    }

    /** Returns false if that is not known yet: the directory does not answer, or the move is not undone. */
    private boolean tryToStay(String name, LmrRecord before, Object attempt) {
        Optional<LmrRecord> now;
        try {
            now = lmrs.records().find(name, before.id(), Deadline.in(timeout)).map(LmrRecords.Found::lmr);
        } catch (LiteException unknown) {
            return leaving.get(before.id()) != attempt;
        } catch (RuntimeException | Error e) { // else the word has no home while this node lives
            Unrecoverable.report(e);
            log.warn("lmr={}: whether it stays is not known yet", before.id(), e);
            return leaving.get(before.id()) != attempt;
        }
        if (now.isPresent() && now.get().move() != null) {
            return leaving.get(before.id()) != attempt;
        }
        boolean here = now.isPresent() && now.get().shares().equals(before.shares());
        // Atomic with the begin of a later attempt, which must not lose its leave.
        leaving.computeIfPresent(before.id(), (id, last) -> {
            if (last != attempt) {
                return last;
            }
            if (here) {
                sync.stayHome(SyncWord.ref(before));
            }
            return null;
        });
        return true;
    }

    /** Moves an LMR's memory away from a node. The LMR's record is in the directory or on this node. */
    void evacuate(@Nullable String name, long id, int node, BooleanSupplier wanted, Deadline deadline) {
        Moves.Destination away = (lmr, until) -> relocation.awayFrom(lmr, node, until);
        lmrs.moves().move(name, id, null, Moves.whileWanted(away, wanted), deadline);
    }

    @Override
    public @Nullable String move(@Nullable String name, long id, String node, BooleanSupplier wanted) {
        if (name == null) {
            lmrs.moves().move(null, id, node, wanted, ofMove(allocator.dataBytes()));
            return null;
        }
        LmrRecord lmr = lmrs.records()
                .find(name, Deadline.in(timeout))
                .map(LmrRecords.Found::lmr)
                .orElseThrow(() -> new LmrNotFoundException("there is no LMR of the name \"%s\"".formatted(name)));
        lmrs.moves().move(name, lmr.id(), node, wanted, ofMove(lmr.size()));
        return null;
    }

    /** Frees orphans without the grace time, but leaves enough time for allocations and moves in flight. */
    @Override
    public @Nullable String freeOrphans(Drain.Progress progress) {
        orphans.scan(Duration.ofDays(1)); // only records them
        Deadline made = Deadline.in(timeout.multipliedBy(2)); // starts after the scan, which may take long
        while (!made.passed()) {
            if (!progress.report(0, 0, "waiting for what is just being made")) {
                return Drain.STOPPED;
            }
            Polling.sleepNs(ORPHANS_PAUSE_NS);
        }
        long freed = orphans.scan(timeout.multipliedBy(2));
        progress.report(freed, freed, "bytes freed");
        return null;
    }

    @Override
    public @Nullable String rebalance(Drain.Progress progress) {
        Rebalance.ShareMover all = (lmr, from, to) ->
                moveShares(lmr, (now, until) -> relocation.fromTo(now, from, to, until), progress::isWanted);
        Rebalance.ShareMover one = (lmr, from, to) ->
                moveShares(lmr, (now, until) -> relocation.oneFromTo(now, from, to, until), progress::isWanted);
        return new Rebalance(lmrs.named(), relocation, all, one, timeout).run(progress);
    }

    private void moveShares(NamedLmrs.Named lmr, Moves.Destination there, BooleanSupplier wanted) {
        lmrs.moves()
                .move(
                        lmr.name(),
                        lmr.lmr().id(),
                        null,
                        Moves.whileWanted(there, wanted),
                        ofMove(lmr.lmr().size()));
    }
}
