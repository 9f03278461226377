package dev.lite.tier.lmr;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.Layout;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Allocates memory for LMRs by their placement, here and at other nodes. Any thread. */
public final class ShareAllocation {
    private static final Logger log = LoggerFactory.getLogger(ShareAllocation.class);

    private final NodeRecord self;
    private final String cluster;
    private final NodeArena arena;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final NodeExtents extents;
    private final Reclaimer reclaimer;
    private final DrainMarks drainMarks;
    private final AtomicInteger turn = new AtomicInteger();

    ShareAllocation(
            NodeRecord self,
            String cluster,
            NodeArena arena,
            ClusterDirectory directory,
            PeerLinks links,
            NodeExtents extents,
            Reclaimer reclaimer,
            DrainMarks drainMarks) {
        this.self = self;
        this.cluster = cluster;
        this.arena = arena;
        this.directory = directory;
        this.links = links;
        this.extents = extents;
        this.reclaimer = reclaimer;
        this.drainMarks = drainMarks;
    }

    /**
     * The purpose of an allocation.
     *
     * @param size of the LMR, bytes
     * @param chunkShift the chunk size as a power of two
     * @param charge the principal that the memory is charged to
     */
    public record Demand(long lmrId, long size, int chunkShift, PrincipalBytes.Charge charge) {}

    /**
     * Allocated memory of an LMR.
     *
     * @param chunkShift the chunk size as a power of two
     * @param shares one for every node
     */
    record Placed(int chunkShift, List<Share> shares) {}

    /**
     * Allocates memory for a new LMR by its placement. Skips a node that takes no new memory now, unless the placement
     * names it.
     */
    Placed place(long lmrId, long size, PrincipalBytes.Charge charge, Placement placement, Deadline deadline) {
        Set<Integer> refusing = new HashSet<>();
        while (true) {
            List<Integer> nodes = nodesFor(placement, refusing);
            int chunkShift = Layout.chunkShift(size, nodes.size());
            int known = refusing.size();
            try {
                return new Placed(
                        chunkShift, allocate(new Demand(lmrId, size, chunkShift, charge), nodes, refusing, deadline));
            } catch (NodeUnreachableException e) {
                boolean tryOthers = refusing.size() > known && !(placement instanceof Placement.OnNodes);
                if (!tryOthers || deadline.passed()) {
                    throw e;
                }
                log.debug("lmr={}: trying other nodes: {}", lmrId, e.getMessage());
            }
        }
    }

    /**
     * Allocates memory for a word of a lock or barrier: at this node, if it takes new memory. If this node's arena ends with its
     * process, the word goes to a node whose arena does not, if one takes it: else the name could never be used again after a crash.
     * A node of this host is preferred.
     */
    Placed placeWord(long lmrId, long size, Deadline deadline) {
        if (self.arenaVolatile()) {
            Deadline elsewhere = Deadline.in(deadline.remaining().dividedBy(2));
            for (NodeRecord node : keepers()) {
                try {
                    Peer unused = links.awaitFirst(node.id(), elsewhere); // this node may have just started
                    Placement there = Placement.on(node.name());
                    return place(lmrId, size, PrincipalBytes.Charge.NOBODY, there, elsewhere);
                } catch (LiteException e) {
                    log.debug("node {} takes no word: {}", node.name(), e.getMessage());
                }
            }
        }
        return place(lmrId, size, PrincipalBytes.Charge.NOBODY, Placement.local(), deadline);
    }

    /** Those nodes whose arenas outlive a crash; all if there are none. */
    public static List<NodeRecord> keepersOrAll(List<NodeRecord> nodes) {
        List<NodeRecord> keepers =
                nodes.stream().filter(node -> !node.arenaVolatile()).toList();
        return keepers.isEmpty() ? nodes : keepers;
    }

    /** The nodes whose arenas outlive a crash and that take new memory: first those of this host, then the others in turn. */
    private List<NodeRecord> keepers() {
        List<NodeRecord> keepers = new ArrayList<>(directory.nodes().stream()
                .filter(node -> !node.arenaVolatile() && !drainMarks.isDraining(node.name()))
                .toList());
        if (!keepers.isEmpty()) {
            Collections.rotate(keepers, turn.getAndIncrement() % keepers.size());
        }
        keepers.sort(Comparator.comparing(node -> !node.host().equals(self.host())));
        return keepers;
    }

    /**
     * The ids of the nodes of a placement, without nodes that are draining or refuse. Where the placement leaves the choice, nodes
     * whose arenas end with their processes count only if there are no others.
     */
    private List<Integer> nodesFor(Placement placement, Set<Integer> refusing) {
        List<NodeRecord> live = directory.nodes();
        List<NodeRecord> open = live.stream()
                .filter(node -> !drainMarks.isDraining(node.name()) && !refusing.contains(node.id()))
                .toList();
        if (open.isEmpty() && refusing.isEmpty()) {
            open = live; // if all nodes are draining, try them all
        }
        List<NodeRecord> chosen = keepersOrAll(open);
        return switch (placement) {
            case Placement.Local local -> {
                boolean here = open.isEmpty() || open.stream().anyMatch(node -> node.id() == self.id());
                yield List.of(here ? self.id() : next(chosen));
            }
            case Placement.RoundRobin roundRobin -> List.of(chosen.isEmpty() ? self.id() : next(chosen));
            case Placement.Spread spread ->
                chosen.isEmpty()
                        ? List.of(self.id())
                        : chosen.stream().map(NodeRecord::id).toList();
            case Placement.OnNodes onNodes -> named(onNodes.nodes(), live);
        };
    }

    private int next(List<NodeRecord> open) {
        return open.get(Math.floorMod(turn.getAndIncrement(), open.size())).id();
    }

    private List<Integer> named(List<String> names, List<NodeRecord> live) {
        List<Integer> nodes = new ArrayList<>();
        for (String name : new LinkedHashSet<>(names)) {
            int id = live.stream()
                    .filter(node -> node.name().equals(name))
                    .findFirst()
                    .orElseThrow(() ->
                            new NodeUnreachableException("node \"%s\" is not a live node of cluster \"%s\"; live are %s"
                                    .formatted(
                                            name,
                                            cluster,
                                            live.stream().map(NodeRecord::name).toList())))
                    .id();
            if (!drainMarks.isDraining(name)) {
                nodes.add(id);
            }
        }
        if (nodes.isEmpty()) {
            throw new NodeUnreachableException(
                    "none of the nodes %s takes new memory: all are being drained".formatted(names));
        }
        return nodes;
    }

    /** Allocates memory for an LMR, chunk by chunk to the nodes in turn; all of it or none. */
    public List<Share> allocate(Demand demand, List<Integer> nodes, Deadline deadline) {
        return allocate(demand, nodes, new HashSet<>(), deadline);
    }

    private List<Share> allocate(Demand demand, List<Integer> nodes, Set<Integer> refusing, Deadline deadline) {
        int shares = (int) Math.min(nodes.size(), chunks(demand));
        List<Share> allocated = new ArrayList<>();
        boolean whole = false;
        try {
            for (int index = 0; index < shares; index++) {
                int node = nodes.get(index);
                try {
                    allocated.add(allocateShare(demand, shares, index, node, deadline));
                } catch (NodeUnreachableException e) {
                    refusing.add(node);
                    throw e;
                }
            }
            whole = true;
            return allocated;
        } finally {
            if (!whole) {
                giveBack(demand, allocated);
            }
        }
    }

    private static long chunks(Demand demand) {
        long chunks = ((demand.size() - 1) >>> demand.chunkShift()) + 1;
        if (chunks > Integer.MAX_VALUE - 8) {
            throw new LimitExceededException("an LMR of %d bytes has %d chunks of %d bytes; the limit is %d"
                    .formatted(demand.size(), chunks, 1L << demand.chunkShift(), Integer.MAX_VALUE - 8));
        }
        return chunks;
    }

    /** Allocates one of the {@code shares} shares of an LMR. */
    public Share allocateShare(Demand demand, int shares, int index, int node, Deadline deadline) {
        long chunks = chunks(demand);
        long chunkBytes = 1L << demand.chunkShift();
        long tailBytes = demand.size() - (chunks - 1) * chunkBytes;
        long count = (chunks - index + shares - 1) / shares;
        boolean hasTail = index == (int) ((chunks - 1) % shares);
        UUID arenaId = arenaId(node, deadline);
        List<Run> runs = new ArrayList<>();
        boolean whole = false;
        try {
            allocate(runs, node, demand, chunkBytes, hasTail ? count - 1 : count, deadline);
            if (hasTail) {
                allocate(runs, node, demand, tailBytes, 1, deadline);
            }
            whole = true;
            return new Share(node, arenaId, runs);
        } finally {
            if (!whole) {
                giveBack(demand, List.of(new Share(node, arenaId, runs)));
            }
        }
    }

    private void giveBack(Demand demand, List<Share> shares) {
        reclaimer.giveBackLater(new LmrRecord(
                demand.lmrId(), LmrRecord.State.FREEING, demand.size(), demand.chunkShift(), 0, Map.of(), shares));
    }

    UUID arenaId(int node, Deadline deadline) {
        return node == self.id()
                ? arena.id()
                : links.awaitPeer(node, deadline).hello().arenaId();
    }

    private void allocate(List<Run> runs, int node, Demand demand, long unit, long count, Deadline deadline) {
        long missing = count;
        while (missing > 0) {
            List<Run> some = extents.allocate(node, demand.lmrId(), unit, missing, demand.charge(), deadline);
            runs.addAll(some);
            missing -= some.stream().mapToLong(run -> run.length() / unit).sum();
        }
    }
}
