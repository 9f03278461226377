package dev.lite.tier.operator;

import dev.lite.api.LiteException;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.lmr.NamedLmrs;
import dev.lite.tier.lmr.NodeExtents;
import dev.lite.tier.lmr.SyncWords;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
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
 * First spreads named LMRs again whose shares were merged on a node, as a drain does: such a share moves to a node without
 * one. Then moves named LMRs, or their shares, from the fullest node to the emptiest. Stops when the used memory of both
 * differs by less than {@value #SPREAD_PERCENT_MAX} percent of an arena, or when no share is small enough to reduce the
 * difference. It never merges shares. Anonymous LMRs, locks and barriers stay.
 *
 * <p>Used by one thread. Limit: {@value #MOVES_MAX} moves; another order continues from there.
 */
final class Rebalance {
    static final int SPREAD_PERCENT_MAX = 10;
    private static final int MOVES_MAX = 256;
    private static final String MOVED = "LMRs moved";
    private static final Logger log = LoggerFactory.getLogger(Rebalance.class);

    private final NamedLmrs named;
    private final Relocation relocation;
    private final ShareMover mover;
    private final ShareMover oneMover;
    private final Duration timeout;

    /** Moves an LMR's memory from one node to another. Blocks up to its own deadline. */
    interface ShareMover {
        void move(NamedLmrs.Named lmr, int from, int to);
    }

    /**
     * @param mover moves all shares of an LMR on one node to another
     * @param oneMover moves one of several shares of an LMR on one node to another, which has none
     */
    Rebalance(NamedLmrs named, Relocation relocation, ShareMover mover, ShareMover oneMover, Duration timeout) {
        this.named = named;
        this.relocation = relocation;
        this.mover = mover;
        this.oneMover = oneMover;
        this.timeout = timeout;
    }

    /** A node and how full it is. */
    private record Node(int id, NodeExtents.Room room) {
        double used() {
            return (double) room.usedBytes() / room.dataBytes();
        }

        /** Bytes to move to the other node so that both are equally full. */
        double surplusOver(Node other) {
            return (used() - other.used())
                    / (1.0 / room.dataBytes() + 1.0 / other.room().dataBytes());
        }

        Node with(long bytes) {
            return new Node(id, new NodeExtents.Room(room.dataBytes(), room.freeBytes() - bytes));
        }
    }

    /** Returns null on success, else the reason why it did not begin or end. */
    @Nullable
    String run(Drain.Progress progress) {
        Map<Integer, Node> nodes = new HashMap<>();
        relocation
                .rooms(Relocation.FROM_NOWHERE, Deadline.in(timeout))
                .forEach((id, room) -> nodes.put(id, new Node(id, room)));
        Map<Long, NamedLmrs.Named> lmrs = lmrs();
        int spread = 0;
        for (NamedLmrs.Named lmr : lmrs.values()) {
            spread += spread(lmr, nodes, spread, progress);
        }
        if (spread > 0) {
            lmrs = lmrs(); // where they are now
        }
        Set<Long> stay = new HashSet<>();
        for (int moves = spread; moves < MOVES_MAX; moves++) {
            if (!progress.report(moves, 0, MOVED)) {
                return Drain.STOPPED;
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
                return null; // no move reduces the difference
            }
            NamedLmrs.Named lmr = next.get();
            stay.add(lmr.lmr().id()); // each LMR is moved at most once
            long bytes = bytesAt(lmr.lmr(), fullest.id());
            try {
                mover.move(lmr, fullest.id(), emptiest.id());
                nodes.put(fullest.id(), fullest.with(-bytes));
                nodes.put(emptiest.id(), emptiest.with(bytes));
            } catch (LiteException e) {
                log.info("cannot move lmr={}: {}", lmr.lmr().id(), e.getMessage());
            }
        }
        return null;
    }

    private Map<Long, NamedLmrs.Named> lmrs() {
        Map<Long, NamedLmrs.Named> lmrs = named.findReadable(
                        lmr -> lmr.state() == LmrRecord.State.LIVE, Deadline.in(timeout))
                .lmrs();
        lmrs.values().removeIf(lmr -> SyncWords.isWord(lmr.name()));
        return lmrs;
    }

    /**
     * Moves merged shares of an LMR to nodes without a share of it, each to the emptiest with room.
     *
     * @param done how many moves this order has made before
     * @return how many shares moved
     */
    private int spread(NamedLmrs.Named lmr, Map<Integer, Node> nodes, int done, Drain.Progress progress) {
        List<LmrRecord.Share> shares = lmr.lmr().shares();
        List<Integer> places =
                new ArrayList<>(shares.stream().map(LmrRecord.Share::node).toList());
        int moved = 0;
        for (int index = shares.size() - 1; index > 0 && done + moved < MOVES_MAX; index--) {
            int from = places.get(index);
            if (Collections.frequency(places, from) < 2) {
                continue;
            }
            long bytes = Relocation.bytes(shares.get(index));
            Optional<Node> to = nodes.values().stream()
                    .filter(node -> !places.contains(node.id()) && node.room().freeBytes() >= bytes)
                    .min(Comparator.comparingDouble(Node::used));
            if (to.isEmpty() || !progress.report(done + moved, 0, MOVED)) {
                return moved;
            }
            try {
                oneMover.move(lmr, from, to.get().id());
            } catch (LiteException e) {
                log.info("cannot spread lmr={} again: {}", lmr.lmr().id(), e.getMessage());
                return moved;
            }
            places.set(index, to.get().id());
            nodes.computeIfPresent(from, (id, node) -> node.with(-bytes));
            nodes.computeIfPresent(to.get().id(), (id, node) -> node.with(bytes));
            moved++;
        }
        return moved;
    }

    /** The largest LMR that does not make the emptiest node fuller than the fullest. */
    private static Optional<NamedLmrs.Named> best(
            Map<Long, NamedLmrs.Named> lmrs, Set<Long> stay, Node fullest, Node emptiest) {
        long surplus =
                Math.min((long) fullest.surplusOver(emptiest), emptiest.room().freeBytes());
        return lmrs.values().stream()
                .filter(lmr -> !stay.contains(lmr.lmr().id()) && bytesAt(lmr.lmr(), emptiest.id()) == 0)
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
