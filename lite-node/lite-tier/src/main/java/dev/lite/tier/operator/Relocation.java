package dev.lite.tier.operator;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.lmr.DrainMarks;
import dev.lite.tier.lmr.Moves;
import dev.lite.tier.lmr.NodeExtents;
import dev.lite.tier.lmr.PrincipalBytes;
import dev.lite.tier.lmr.Reclaimer;
import dev.lite.tier.lmr.ShareAllocation;
import dev.lite.tier.memory.Layout;
import dev.lite.tier.peer.PeerLinks;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds new places for memory that must leave a node, on the connected nodes that take memory. Any thread; blocks for
 * calls to those nodes.
 */
public final class Relocation {
    /** No node's id: all nodes are candidates. */
    static final int FROM_NOWHERE = -1;

    private static final Logger log = LoggerFactory.getLogger(Relocation.class);

    private final NodeRecord self;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final NodeExtents extents;
    private final ShareAllocation allocation;
    private final Reclaimer reclaimer;
    private final DrainMarks drainMarks;

    /** Created once per node. */
    public Relocation(
            NodeRecord self,
            ClusterDirectory directory,
            PeerLinks links,
            NodeExtents extents,
            ShareAllocation allocation,
            Reclaimer reclaimer,
            DrainMarks drainMarks) {
        this.self = self;
        this.directory = directory;
        this.links = links;
        this.extents = extents;
        this.allocation = allocation;
        this.reclaimer = reclaimer;
        this.drainMarks = drainMarks;
    }

    /** Whether a connected node other than the given one takes memory. */
    boolean hasOthers(int node) {
        return !candidates(node).isEmpty();
    }

    /** The nodes that may take memory from a node, by id. */
    private List<NodeRecord> candidates(int from) {
        return directory.nodes().stream()
                .filter(node -> node.id() != from && !drainMarks.isDraining(node.name()))
                .filter(node -> node.id() == self.id() ? !drainMarks.isClosed() : links.peer(node.id()) != null)
                .toList();
    }

    /**
     * The fill levels of the nodes that may take memory from a node, without nodes that do not answer. Only nodes whose arenas
     * outlive a crash, if there is one.
     */
    Map<Integer, NodeExtents.Room> rooms(int from, Deadline deadline) {
        return rooms(ShareAllocation.keepersOrAll(candidates(from)), deadline);
    }

    private Map<Integer, NodeExtents.Room> rooms(List<NodeRecord> nodes, Deadline deadline) {
        Map<Integer, NodeExtents.Room> rooms = new TreeMap<>();
        for (NodeRecord node : nodes) {
            try {
                rooms.put(node.id(), extents.room(node.id(), deadline));
            } catch (LiteException e) {
                log.debug("node {} does not report its fill level: {}", node.name(), e.getMessage());
            }
        }
        return rooms;
    }

    /**
     * New places for an LMR's shares on a node: each share as a whole on another node. If no node has room for a share,
     * the whole LMR is distributed again over the others. Nodes whose arenas end with their processes take it only if the others
     * lack room.
     *
     * @return empty if the LMR has nothing on the node
     * @throws NodeUnreachableException if no other node takes memory
     * @throws LimitExceededException if the others lack room; the message says how much they have
     */
    Optional<Moves.Target> awayFrom(LmrRecord lmr, int node, Deadline deadline) {
        if (lmr.shares().stream().noneMatch(share -> share.node() == node)) {
            return Optional.empty();
        }
        Map<Integer, NodeExtents.Room> rooms = rooms(node, deadline);
        if (rooms.isEmpty()) {
            throw new NodeUnreachableException("LMR %d cannot leave node %s: no other live node takes memory"
                    .formatted(lmr.id(), links.nameOf(node)));
        }
        try {
            return Optional.of(placed(lmr, node, rooms, deadline));
        } catch (LimitExceededException e) {
            Map<Integer, NodeExtents.Room> all = rooms(candidates(node), deadline);
            if (all.size() <= rooms.size()) {
                throw e;
            }
            log.info("lmr={} goes to nodes whose memory ends with their processes: {}", lmr.id(), e.getMessage());
            return Optional.of(placed(lmr, node, all, deadline));
        }
    }

    private Moves.Target placed(LmrRecord lmr, int node, Map<Integer, NodeExtents.Room> rooms, Deadline deadline) {
        Optional<List<Share>> replaced = replaceShares(lmr, node, rooms, deadline);
        return replaced.isPresent()
                ? new Moves.Target(lmr.chunkShift(), replaced.get())
                : dealAnew(lmr, node, rooms, deadline);
    }

    /**
     * New places on one node for an LMR's shares on another.
     *
     * @return empty if the LMR has nothing on the other node
     * @throws LimitExceededException if the node lacks room
     */
    Optional<Moves.Target> fromTo(LmrRecord lmr, int from, int to, Deadline deadline) {
        if (lmr.shares().stream().noneMatch(share -> share.node() == from)) {
            return Optional.empty();
        }
        NodeExtents.Room room = extents.room(to, deadline);
        List<Share> shares = replaceShares(lmr, from, Map.of(to, room), deadline)
                .orElseThrow(() -> new LimitExceededException("LMR %d does not fit at node %s, which has %d bytes free"
                        .formatted(lmr.id(), links.nameOf(to), room.freeBytes())));
        return Optional.of(new Moves.Target(lmr.chunkShift(), shares));
    }

    /**
     * A new place on one node for one of an LMR's shares on another: the last one there.
     *
     * @return empty unless the LMR has at least two shares on the other node and none on this one
     * @throws LimitExceededException if the node lacks room
     */
    Optional<Moves.Target> oneFromTo(LmrRecord lmr, int from, int to, Deadline deadline) {
        List<Integer> nodes = lmr.shares().stream().map(Share::node).toList();
        if (Collections.frequency(nodes, from) < 2 || nodes.contains(to)) {
            return Optional.empty();
        }
        NodeExtents.Room room = extents.room(to, deadline);
        List<Share> shares = new ArrayList<>(lmr.shares());
        int index = nodes.lastIndexOf(from);
        Map<Integer, Long> free = new TreeMap<>(Map.of(to, room.freeBytes()));
        shares.set(
                index,
                elsewhere(lmr, shares, index, free, deadline)
                        .orElseThrow(() -> new LimitExceededException(
                                "a share of LMR %d does not fit at node %s, which has %d bytes free"
                                        .formatted(lmr.id(), links.nameOf(to), room.freeBytes()))));
        return Optional.of(new Moves.Target(lmr.chunkShift(), shares));
    }

    /** The LMR's shares with replacements for those on the node; empty if a share fits nowhere. */
    private Optional<List<Share>> replaceShares(
            LmrRecord lmr, int node, Map<Integer, NodeExtents.Room> rooms, Deadline deadline) {
        Map<Integer, Long> free = new TreeMap<>();
        rooms.forEach((id, room) -> free.put(id, room.freeBytes()));
        List<Share> shares = new ArrayList<>(lmr.shares());
        List<Share> fresh = new ArrayList<>();
        boolean whole = false;
        try {
            for (int index = 0; index < shares.size(); index++) {
                if (shares.get(index).node() == node) {
                    Optional<Share> share = elsewhere(lmr, shares, index, free, deadline);
                    if (share.isEmpty()) {
                        return Optional.empty();
                    }
                    fresh.add(share.get());
                    shares.set(index, share.get());
                }
            }
            whole = true;
            return Optional.of(shares);
        } finally {
            if (!whole && !fresh.isEmpty()) {
                giveBack(lmr, fresh);
            }
        }
    }

    /** Memory for one share on the emptiest node with room; prefers nodes where the LMR has nothing yet. */
    private Optional<Share> elsewhere(
            LmrRecord lmr, List<Share> shares, int index, Map<Integer, Long> free, Deadline deadline) {
        long bytes = bytes(shares.get(index));
        Set<Integer> used = new HashSet<>();
        shares.forEach(share -> used.add(share.node()));
        List<Integer> order = free.entrySet().stream()
                .filter(node -> node.getValue() >= bytes)
                .sorted(Comparator.comparing((Map.Entry<Integer, Long> node) -> used.contains(node.getKey()))
                        .thenComparing(
                                Map.Entry.<Integer, Long>comparingByValue().reversed()))
                .map(Map.Entry::getKey)
                .toList();
        for (int node : order) {
            try {
                Share share =
                        allocation.allocateShare(demand(lmr, lmr.chunkShift()), shares.size(), index, node, deadline);
                free.merge(node, -bytes, Long::sum);
                return Optional.of(share);
            } catch (LimitExceededException | NodeUnreachableException e) {
                log.debug("cannot place a share of lmr={} on node {}: {}", lmr.id(), node, e.getMessage());
            }
        }
        return Optional.empty();
    }

    /** Distributes the whole LMR over as few nodes as have the room. */
    private Moves.Target dealAnew(LmrRecord lmr, int from, Map<Integer, NodeExtents.Room> rooms, Deadline deadline) {
        List<Map.Entry<Integer, NodeExtents.Room>> emptiest = rooms.entrySet().stream()
                .sorted(Comparator.comparingLong((Map.Entry<Integer, NodeExtents.Room> node) ->
                                node.getValue().freeBytes())
                        .reversed())
                .toList();
        List<Integer> nodes = emptiest.stream().map(Map.Entry::getKey).toList();
        String why = "";
        for (int count = 1; count <= nodes.size(); count++) {
            if (emptiest.get(count - 1).getValue().freeBytes() < lmr.size() / count) {
                continue;
            }
            int chunkShift = Layout.chunkShift(lmr.size(), count);
            try {
                return new Moves.Target(
                        chunkShift, allocation.allocate(demand(lmr, chunkShift), nodes.subList(0, count), deadline));
            } catch (LimitExceededException | NodeUnreachableException e) {
                why = "; " + e.getMessage();
            }
        }
        long needed = lmr.shares().stream()
                .filter(share -> share.node() == from)
                .mapToLong(Relocation::bytes)
                .sum();
        throw new LimitExceededException("LMR %d has %d bytes on node %s that must leave; free bytes by node: %s%s"
                .formatted(lmr.id(), needed, links.nameOf(from), freeByName(rooms), why));
    }

    /** The owner's limit does not block a forced move, but the LMR counts toward the limit at its new place. */
    private static ShareAllocation.Demand demand(LmrRecord lmr, int chunkShift) {
        return new ShareAllocation.Demand(
                lmr.id(), lmr.size(), chunkShift, new PrincipalBytes.Charge(lmr.owner(), false));
    }

    private Map<String, Long> freeByName(Map<Integer, NodeExtents.Room> rooms) {
        Map<String, Long> free = new TreeMap<>();
        rooms.forEach((node, room) -> free.put(links.nameOf(node), room.freeBytes()));
        return free;
    }

    static long bytes(Share share) {
        return share.runs().stream().mapToLong(Run::length).sum();
    }

    private void giveBack(LmrRecord lmr, List<Share> shares) {
        reclaimer.giveBackLater(new LmrRecord(
                lmr.id(),
                LmrRecord.State.FREEING,
                lmr.size(),
                lmr.chunkShift(),
                lmr.defaultPermissions(),
                lmr.grants(),
                shares));
    }
}
