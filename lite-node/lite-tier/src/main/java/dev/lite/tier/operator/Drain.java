package dev.lite.tier.operator;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Counts;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.lmr.LmrRecords;
import dev.lite.tier.lmr.NamedLmrs;
import dev.lite.tier.memory.ArenaAllocator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves all LMRs away from this node, in rounds, until the arena holds nothing that another node could hold. If an LMR
 * is just being created, freed or moved by another node, a round cannot move it; the next round retries.
 *
 * <p>The creator of an anonymous LMR has its record and moves it. Anonymous LMRs that this node created end with its
 * process, so they are moved only if the process stays. Memory without a record is left: an LMR that is still being
 * created gets its record a moment later. If records cannot be read, memory without a record may be theirs, and the drain
 * fails after it has moved everything else.
 *
 * <p>Used by one thread. Limit: {@value #AT_ONCE} moves at a time.
 */
final class Drain {
    /** Why a drain fails in a cluster of one node. */
    static final String NOBODY = "no other live node takes memory";

    private static final Logger log = LoggerFactory.getLogger(Drain.class);
    private static final int AT_ONCE = 4;

    /** The reason of an action whose order was cancelled, or that another node executes now. */
    static final String STOPPED = "it was taken back";

    /** The drain gives up after this time without progress. */
    private static final Duration STUCK = Duration.ofSeconds(2);

    /** How long the directory may not answer: longer than its servers need to elect a leader. */
    private static final Duration UNANSWERED = Duration.ofSeconds(10);

    /** Interval after which unknown LMRs are asked for again: they may have been published meanwhile. */
    private static final Duration ASK_AGAIN = Duration.ofMillis(500);

    private static final long PAUSE_NS = 20_000_000;

    private final NodeRecord self;
    private final ArenaAllocator allocator;
    private final LmrRecords records;
    private final NamedLmrs named;
    private final Mover mover;
    private final Executor executor;
    private final boolean leaving;

    /** LMRs that their creators, other nodes, recently did not know. Guarded by this. */
    private final Set<Long> notAnonymous = new HashSet<>();

    private Deadline askAgain = Deadline.in(ASK_AGAIN);

    /** Passes if there is no progress; used by the thread that drains. */
    private Deadline stuck = Deadline.in(STUCK);

    /**
     * LMRs that were moved away, and until when their former memory is expected to be freed. What is still here then is not theirs:
     * their records do not have it. Guarded by this.
     */
    private final Map<Long, Deadline> movedAway = new HashMap<>();

    /** Moves an LMR's memory away from this node. Blocks up to its own deadline. */
    interface Mover {
        /** Whether another live node takes memory now. */
        boolean hasOthers();

        /** Those of the nodes that are gone, and with them the records of their anonymous LMRs. */
        Set<Integer> areGone(Set<Integer> nodes, Deadline deadline);

        /** Moves one LMR, as long as it is wanted; its name is null if it is anonymous. */
        void evacuate(@Nullable String name, long id, long bytes, BooleanSupplier wanted);
    }

    /** Receives the progress of an order. */
    interface Progress {
        /** Reports progress; returns false if the action must stop. May block. Only the thread that executes the order. */
        boolean report(long done, long total, String note);

        /** Whether the order is still wanted: false once it was cancelled. Any thread; does not block. */
        default boolean isWanted() {
            return true;
        }
    }

    /** @param leaving whether this process ends afterwards */
    Drain(
            NodeRecord self,
            ArenaAllocator allocator,
            LmrRecords records,
            NamedLmrs named,
            Mover mover,
            Executor executor,
            boolean leaving) {
        this.self = self;
        this.allocator = allocator;
        this.records = records;
        this.named = named;
        this.mover = mover;
        this.executor = executor;
        this.leaving = leaving;
    }

    /** An LMR with memory on this node. */
    private record Held(long id, @Nullable String name, long bytes) {}

    /**
     * The arena's content: movable LMRs, and the bytes of unknown ones.
     *
     * @param unreadable the names of the records that cannot be read
     * @param unreadableBytes how many of the unknown bytes may belong to those
     */
    private record Found(List<Held> movable, long unknownBytes, SortedSet<String> unreadable, long unreadableBytes) {
        long bytes() {
            return movable.stream().mapToLong(Held::bytes).sum();
        }

        /** Decreases when an LMR has moved away, and again when its former memory is free. */
        long left() {
            return 2 * bytes() + unknownBytes;
        }
    }

    /**
     * Drains.
     *
     * @return null if everything moved away, else the reason
     */
    @Nullable
    String run(Progress progress, Deadline deadline) {
        Found found = scanWhenAnswered(deadline);
        long totalBytes = found.bytes();
        log.info(
                "drain begins node={} lmrs={} bytes={}",
                self.name(),
                found.movable().size(),
                totalBytes);
        stuck = Deadline.in(STUCK);
        long least = found.left();
        while (!found.movable().isEmpty() || (found.unknownBytes() > 0 && !stuck.passed())) {
            long doneBytes = Math.max(0, totalBytes - found.bytes());
            if (!progress.report(doneBytes, totalBytes, "bytes moved away")) {
                return STOPPED;
            }
            if (!mover.hasOthers()) {
                return NOBODY;
            }
            if (deadline.passed()) {
                return new LiteTimeoutException(deadline.expired("%d of %d bytes are still at node %s"
                                .formatted(found.bytes(), totalBytes, self.name())))
                        .getMessage();
            }
            Map<Long, String> failures = moveAll(found.movable(), progress);
            found = scanWhenAnswered(deadline);
            if (found.left() < least) {
                least = found.left();
                stuck = Deadline.in(STUCK);
            }
            if (stuck.passed() && !failures.isEmpty()) {
                return "%s with %d bytes cannot leave: %s"
                        .formatted(
                                Counts.text(found.movable().size(), "LMR", "LMRs"),
                                found.bytes(),
                                failures.values().iterator().next());
            }
            Polling.sleepNs(PAUSE_NS);
        }
        if (found.unreadableBytes() > 0) {
            return "%d bytes are left that may belong to LMRs whose records cannot be read, such as \"%s\""
                    .formatted(found.unreadableBytes(), found.unreadable().first());
        }
        progress.report(totalBytes, totalBytes, "bytes moved away");
        if (found.unknownBytes() > 0) {
            log.info("drain leaves {} bytes of unknown LMRs at node={}", found.unknownBytes(), self.name());
        }
        return null;
    }

    /** Scans; tries again for a while if the directory does not answer. Until its clients reconnect, moves fail, too. */
    private Found scanWhenAnswered(Deadline deadline) {
        Deadline until = null;
        while (true) {
            try {
                return scan(deadline);
            } catch (ClusterUnavailableException e) {
                until = until == null ? deadline.atMost(UNANSWERED) : until;
                if (until.passed()) {
                    throw e;
                }
                log.debug("the drain of node={} waits for the directory: {}", self.name(), e.getMessage());
            }
            Polling.sleepNs(PAUSE_NS);
            stuck = Deadline.in(STUCK);
        }
    }

    private Found scan(Deadline deadline) {
        synchronized (this) {
            if (askAgain.passed()) {
                notAnonymous.clear();
                askAgain = Deadline.in(ASK_AGAIN);
            }
        }
        Map<Long, Long> here = new HashMap<>();
        allocator.forEachExtent((id, run) -> {
            if (!leaving || !records.hasAnonymous(id)) {
                here.merge(id, run.length(), Long::sum);
            }
        });
        if (here.isEmpty()) {
            return new Found(List.of(), 0, Collections.emptySortedSet(), 0);
        }
        NamedLmrs.Scan scan = named.findReadable(lmr -> here.containsKey(lmr.id()), deadline);
        Set<Integer> creators = new HashSet<>();
        here.keySet().forEach(id -> creators.add(LmrRecords.creator(id)));
        Set<Integer> gone = mover.areGone(creators, deadline);
        List<Held> movable = new ArrayList<>();
        long unknownBytes = 0;
        long unreadableBytes = 0;
        for (Map.Entry<Long, Long> held : here.entrySet()) {
            NamedLmrs.Named known = scan.lmrs().get(held.getKey());
            if (known != null
                    ? isHere(known.lmr())
                    : !hasMovedAway(held.getKey()) && mayBeAnonymous(held.getKey(), gone)) {
                movable.add(new Held(held.getKey(), known == null ? null : known.name(), held.getValue()));
            } else {
                unknownBytes += held.getValue();
                if (known == null && !scan.unreadable().isEmpty() && !wasMoved(held.getKey())) {
                    unreadableBytes += held.getValue();
                }
            }
        }
        return new Found(movable, unknownBytes, scan.unreadable(), unreadableBytes);
    }

    /** Whether the LMR has memory here, or will after its move. Otherwise its memory here is being freed. */
    private boolean isHere(LmrRecord lmr) {
        LmrRecord.Move move = lmr.move();
        return lmr.state() != LmrRecord.State.FREEING
                && (lmr.shares().stream().anyMatch(share -> share.node() == self.id())
                        || (move != null && move.shares().stream().anyMatch(share -> share.node() == self.id())));
    }

    private synchronized boolean wasMoved(long id) {
        return movedAway.containsKey(id);
    }

    private synchronized boolean hasMovedAway(long id) {
        Deadline expected = movedAway.get(id);
        return expected != null && expected.passed();
    }

    private boolean mayBeAnonymous(long id, Set<Integer> gone) {
        if (LmrRecords.creator(id) == self.id()) {
            return records.hasAnonymous(id);
        }
        if (gone.contains(LmrRecords.creator(id))) {
            return false;
        }
        synchronized (this) {
            return !notAnonymous.contains(id);
        }
    }

    /** Tries to move each LMR; returns the failures by LMR id. */
    private Map<Long, String> moveAll(List<Held> movable, Progress progress) {
        Map<Long, String> failures = new TreeMap<>();
        for (int from = 0; from < movable.size() && progress.isWanted(); from += AT_ONCE) {
            List<CompletableFuture<Void>> moves = new ArrayList<>();
            for (Held held : movable.subList(from, Math.min(movable.size(), from + AT_ONCE))) {
                moves.add(CompletableFuture.runAsync(() -> move(held, failures, progress::isWanted), executor));
            }
            moves.forEach(CompletableFuture::join); // every move has a deadline
        }
        return failures;
    }

    private void move(Held held, Map<Long, String> failures, BooleanSupplier wanted) {
        try {
            mover.evacuate(held.name(), held.id(), held.bytes(), wanted);
            synchronized (this) {
                movedAway.putIfAbsent(held.id(), Deadline.in(STUCK));
            }
        } catch (LmrFreedException | LmrNotFoundException e) {
            synchronized (this) {
                notAnonymous.add(held.id()); // named LMRs are looked up in every round
            }
        } catch (LimitExceededException | NodeUnreachableException | ClusterUnavailableException e) {
            note(failures, held, e);
        } catch (LiteException e) {
            note(failures, held, e);
            log.info("cannot move lmr={} yet: {}", held.id(), e.getMessage());
        }
    }

    private static void note(Map<Long, String> failures, Held held, LiteException e) {
        String which = held.name() == null ? "" : "\"%s\": ".formatted(held.name());
        synchronized (failures) {
            failures.put(held.id(), which + e.getMessage());
        }
    }
}
