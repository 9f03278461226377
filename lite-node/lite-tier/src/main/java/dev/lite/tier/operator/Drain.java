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
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.lmr.LmrRecords;
import dev.lite.tier.lmr.NamedLmrs;
import dev.lite.tier.memory.ArenaAllocator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves everything away from this node, round by round until the arena holds nothing that another node could hold: what a
 * round cannot move, because it is just being made, freed or moved by somebody else, the next one tries again.
 *
 * <p>An LMR without a name is moved by the node that made it, which has its record. Those that this node made end with its
 * process, so they are moved only when it is to stay. Memory that no record knows is left: if an LMR is still coming to be
 * there, it is known a moment later.
 *
 * <p>Used by one thread. Bound: {@value #AT_ONCE} moves at a time.
 */
final class Drain {
    private static final Logger log = LoggerFactory.getLogger(Drain.class);
    private static final int AT_ONCE = 4;

    /** How long a round may find nothing to do, or nothing that works, until that is believed. */
    private static final Duration STUCK = Duration.ofSeconds(2);

    /** An LMR that nobody knew may just have been published. */
    private static final Duration ASK_AGAIN = Duration.ofMillis(500);

    private static final long PAUSE_NS = 20_000_000;

    private final NodeRecord self;
    private final ArenaAllocator allocator;
    private final LmrRecords records;
    private final NamedLmrs named;
    private final Mover mover;
    private final Executor executor;
    private final boolean leaving;

    /** LMRs of other nodes' making that those did not know, some time ago at most. Guarded by this. */
    private final Set<Long> notAnonymous = new HashSet<>();

    private Deadline askAgain = Deadline.in(ASK_AGAIN);

    /** Moves what an LMR has here away; blocks up to a deadline of its own. */
    interface Mover {
        /** Whether there is a node now that takes memory. */
        boolean hasOthers();

        /** Whether a node is gone, and with it the records of what it made without a name. */
        boolean isGone(int node);

        /** Moves one; its name is null when it has none. */
        void evacuate(@Nullable String name, long id, long bytes);
    }

    /** Is notified of the progress; false when the drain is to stop. */
    interface Progress {
        boolean report(long done, long total, String note);
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

    /** One thing that has memory here. */
    private record Held(long id, @Nullable String name, long bytes) {}

    /** What is in the arena: what can be moved, and the bytes that nobody knows. */
    private record Found(List<Held> movable, long unknownBytes) {
        long bytes() {
            return movable.stream().mapToLong(Held::bytes).sum();
        }
    }

    /**
     * Drains.
     *
     * @return null when everything is away, else why not
     */
    @Nullable
    String run(Progress progress, Deadline deadline) {
        Found found = scan(deadline);
        long totalBytes = found.bytes();
        log.info(
                "drain begins node={} lmrs={} bytes={}",
                self.name(),
                found.movable().size(),
                totalBytes);
        Deadline stuck = Deadline.in(STUCK);
        long leastBytes = Long.MAX_VALUE;
        while (!found.movable().isEmpty() || (found.unknownBytes() > 0 && !stuck.passed())) {
            long doneBytes = Math.max(0, totalBytes - found.bytes());
            if (!progress.report(doneBytes, totalBytes, "bytes moved away")) {
                return "it was taken back";
            }
            if (!mover.hasOthers()) {
                return "no other live node takes memory";
            }
            if (deadline.passed()) {
                return new LiteTimeoutException(deadline.expired("%d of %d bytes are still at node %s"
                                .formatted(found.bytes(), totalBytes, self.name())))
                        .getMessage();
            }
            long bytes = found.bytes() + found.unknownBytes();
            if (bytes < leastBytes) {
                leastBytes = bytes;
                stuck = Deadline.in(STUCK);
            }
            Map<Long, String> failures = moveAll(found.movable());
            found = scan(deadline);
            if (stuck.passed() && !failures.isEmpty()) {
                return "%d LMRs with %d bytes cannot leave: %s"
                        .formatted(
                                found.movable().size(),
                                found.bytes(),
                                failures.values().iterator().next());
            }
            Polling.sleepNs(PAUSE_NS);
        }
        progress.report(totalBytes, totalBytes, "bytes moved away");
        if (found.unknownBytes() > 0) {
            log.info("drain leaves {} bytes of no known LMR at node={}", found.unknownBytes(), self.name());
        }
        return null;
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
            return new Found(List.of(), 0);
        }
        Map<Long, NamedLmrs.Named> ofNames = named.find(lmr -> here.containsKey(lmr.id()), deadline);
        List<Held> movable = new ArrayList<>();
        long unknownBytes = 0;
        for (Map.Entry<Long, Long> held : here.entrySet()) {
            NamedLmrs.Named known = ofNames.get(held.getKey());
            if (known != null ? isHere(known.lmr()) : mayBeAnonymous(held.getKey())) {
                movable.add(new Held(held.getKey(), known == null ? null : known.name(), held.getValue()));
            } else {
                unknownBytes += held.getValue();
            }
        }
        return new Found(movable, unknownBytes);
    }

    /** Whether the LMR has a place here, or will have one after its move; otherwise its memory here is being given back. */
    private boolean isHere(LmrRecord lmr) {
        LmrRecord.Move move = lmr.move();
        return lmr.state() != LmrRecord.State.FREEING
                && (lmr.shares().stream().anyMatch(share -> share.node() == self.id())
                        || (move != null && move.shares().stream().anyMatch(share -> share.node() == self.id())));
    }

    private boolean mayBeAnonymous(long id) {
        if (LmrRecords.creator(id) == self.id()) {
            return records.hasAnonymous(id);
        }
        if (mover.isGone(LmrRecords.creator(id))) {
            return false;
        }
        synchronized (this) {
            return !notAnonymous.contains(id);
        }
    }

    /** Tries to move each; answers why it did not work, by the LMR. */
    private Map<Long, String> moveAll(List<Held> movable) {
        Map<Long, String> failures = new TreeMap<>();
        for (int from = 0; from < movable.size(); from += AT_ONCE) {
            List<CompletableFuture<Void>> moves = new ArrayList<>();
            for (Held held : movable.subList(from, Math.min(movable.size(), from + AT_ONCE))) {
                moves.add(CompletableFuture.runAsync(() -> move(held, failures), executor));
            }
            moves.forEach(CompletableFuture::join); // every move has a deadline
        }
        return failures;
    }

    private void move(Held held, Map<Long, String> failures) {
        try {
            mover.evacuate(held.name(), held.id(), held.bytes());
        } catch (LmrFreedException | LmrNotFoundException e) {
            synchronized (this) {
                notAnonymous.add(held.id()); // one with a name is looked up each time
            }
        } catch (LimitExceededException | NodeUnreachableException | ClusterUnavailableException e) {
            note(failures, held, e);
        } catch (LiteException e) {
            note(failures, held, e);
            log.info("lmr={} stays for now: {}", held.id(), e.getMessage());
        }
    }

    private static void note(Map<Long, String> failures, Held held, LiteException e) {
        String which = held.name() == null ? "" : "\"%s\": ".formatted(held.name());
        synchronized (failures) {
            failures.put(held.id(), which + e.getMessage());
        }
    }
}
