package dev.lite.tier.operator;

import dev.lite.api.LiteException;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.lmr.NamedLmrs;
import dev.lite.tier.lmr.NodeExtents;
import dev.lite.tier.lmr.SyncWords;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves named LMRs, or their shares, from the fullest node to the emptiest, until what is used of both differs by less than
 * {@value #SPREAD_PERCENT_MAX} percent of an arena, or no share is small enough to bring them nearer. What has no name stays
 * where it is, and so do locks and barriers.
 *
 * <p>Used by one thread. Bound: {@value #MOVES_MAX} moves; another order continues from there.
 */
final class Rebalance {
    static final int SPREAD_PERCENT_MAX = 10;
    private static final int MOVES_MAX = 256;
    private static final Logger log = LoggerFactory.getLogger(Rebalance.class);

    private final NamedLmrs named;
    private final Relocation relocation;
    private final ShareMover mover;
    private final Duration timeout;

    /** Moves what an LMR has on one node to another; blocks up to a deadline of its own. */
    interface ShareMover {
        void move(NamedLmrs.Named lmr, int from, int to);
    }

    Rebalance(NamedLmrs named, Relocation relocation, ShareMover mover, Duration timeout) {
        this.named = named;
        this.relocation = relocation;
        this.mover = mover;
        this.timeout = timeout;
    }

    /** A node and how full it is. */
    private record Node(int id, NodeExtents.Room room) {
        double used() {
            return (double) room.usedBytes() / room.dataBytes();
        }

        /** How many bytes to the other make both equally full. */
        double surplusOver(Node other) {
            return (used() - other.used())
                    / (1.0 / room.dataBytes() + 1.0 / other.room().dataBytes());
        }

        Node with(long bytes) {
            return new Node(id, new NodeExtents.Room(room.dataBytes(), room.freeBytes() - bytes));
        }
    }

    /** Returns null when it is done, else why it was not begun or not ended. */
    @Nullable
    String run(Drain.Progress progress) {
        Map<Integer, Node> nodes = new HashMap<>();
        relocation
                .rooms(Relocation.FROM_NOWHERE, Deadline.in(timeout))
                .forEach((id, room) -> nodes.put(id, new Node(id, room)));
        Map<Long, NamedLmrs.Named> lmrs = named.find(lmr -> lmr.state() == LmrRecord.State.LIVE, Deadline.in(timeout));
        lmrs.values().removeIf(lmr -> SyncWords.isWord(lmr.name()));
        Set<Long> stay = new HashSet<>();
        for (int moves = 0; moves < MOVES_MAX; moves++) {
            if (!progress.report(moves, 0, "LMRs moved")) {
                return "it was taken back";
            }
            List<Node> byUse = nodes.values().stream()
                    .sorted(Comparator.comparingDouble(Node::used))
                    .toList();
            if (byUse.size() < 2) {
                return "no two nodes take memory";
            }
            Node fullest = byUse.getLast();
            Node emptiest = byUse.getFirst();
            if ((fullest.used() - emptiest.used()) * 100 < SPREAD_PERCENT_MAX) {
                return null;
            }
            Optional<NamedLmrs.Named> next = best(lmrs, stay, fullest, emptiest);
            if (next.isEmpty()) {
                return null; // nothing that could be moved brings them nearer
            }
            NamedLmrs.Named lmr = next.get();
            stay.add(lmr.lmr().id()); // each is moved once
            long bytes = bytesAt(lmr.lmr(), fullest.id());
            try {
                mover.move(lmr, fullest.id(), emptiest.id());
                nodes.put(fullest.id(), fullest.with(-bytes));
                nodes.put(emptiest.id(), emptiest.with(bytes));
            } catch (LiteException e) {
                log.info("lmr={} is not moved: {}", lmr.lmr().id(), e.getMessage());
            }
        }
        return null;
    }

    /** The largest that does not make the emptiest node the fuller of the two. */
    private static Optional<NamedLmrs.Named> best(
            Map<Long, NamedLmrs.Named> lmrs, Set<Long> stay, Node fullest, Node emptiest) {
        long surplus =
                Math.min((long) fullest.surplusOver(emptiest), emptiest.room().freeBytes());
        return lmrs.values().stream()
                .filter(lmr -> !stay.contains(lmr.lmr().id()))
                .filter(lmr -> bytesAt(lmr.lmr(), fullest.id()) > 0 && bytesAt(lmr.lmr(), fullest.id()) <= surplus)
                .max(Comparator.comparingLong(lmr -> bytesAt(lmr.lmr(), fullest.id())));
    }

    private static long bytesAt(LmrRecord lmr, int node) {
        return lmr.shares().stream()
                .filter(share -> share.node() == node)
                .mapToLong(Relocation::bytes)
                .sum();
    }
}
