package dev.lite.tier.node;

import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.NodeRecord;
import dev.lite.tier.Deadline;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.PeerLinks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;

/** Takes memory for LMRs, here and at other nodes, where their placement says. Any thread. */
final class ShareAllocation implements Masters.Allocation {
    private final NodeRecord self;
    private final LiteNodeConfig config;
    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final NodeCalls calls;
    private final Reclaimer reclaimer;
    private final AtomicInteger turn = new AtomicInteger();

    ShareAllocation(
            NodeRecord self,
            LiteNodeConfig config,
            NodeArena arena,
            ArenaAllocator allocator,
            ClusterDirectory directory,
            PeerLinks links,
            NodeCalls calls,
            Reclaimer reclaimer) {
        this.self = self;
        this.config = config;
        this.arena = arena;
        this.allocator = allocator;
        this.directory = directory;
        this.links = links;
        this.calls = calls;
        this.reclaimer = reclaimer;
    }

    /** The ids of the nodes that a placement means now. */
    List<Integer> nodesFor(Placement placement) {
        List<NodeRecord> live = directory.nodes();
        return switch (placement) {
            case Placement.Local local -> List.of(self.id());
            case Placement.RoundRobin roundRobin ->
                live.isEmpty()
                        ? List.of(self.id())
                        : List.of(live.get(Math.floorMod(turn.getAndIncrement(), live.size()))
                                .id());
            case Placement.Spread spread ->
                live.isEmpty()
                        ? List.of(self.id())
                        : live.stream().map(NodeRecord::id).toList();
            case Placement.OnNodes onNodes ->
                onNodes.nodes().stream()
                        .distinct()
                        .map(name -> live.stream()
                                .filter(node -> node.name().equals(name))
                                .findFirst()
                                .orElseThrow(() -> new NodeUnreachableException(
                                        "node \"%s\" is no live node of cluster \"%s\"; live are %s"
                                                .formatted(
                                                        name,
                                                        config.cluster(),
                                                        live.stream()
                                                                .map(NodeRecord::name)
                                                                .toList())))
                                .id())
                        .toList();
        };
    }

    /**
     * Takes memory for an LMR, dealt to the nodes in turn; all of it or none.
     *
     * @param size of the LMR, bytes
     */
    @Override
    public List<Share> allocate(long lmrId, long size, int chunkShift, List<Integer> nodes, Deadline deadline) {
        long chunkBytes = 1L << chunkShift;
        long chunks = ((size - 1) >>> chunkShift) + 1;
        if (chunks > Integer.MAX_VALUE - 8) {
            throw new LimitExceededException("an LMR of %d bytes has %d chunks of %d bytes; the limit is %d"
                    .formatted(size, chunks, chunkBytes, Integer.MAX_VALUE - 8));
        }
        int shares = (int) Math.min(nodes.size(), chunks);
        long tailBytes = size - (chunks - 1) * chunkBytes;
        int tailShare = (int) ((chunks - 1) % shares);
        List<Share> allocated = new ArrayList<>();
        try {
            for (int index = 0; index < shares; index++) {
                long count = (chunks - index + shares - 1) / shares;
                boolean hasTail = index == tailShare;
                List<Run> runs = new ArrayList<>();
                UUID arenaId = arenaId(nodes.get(index), deadline);
                allocated.add(new Share(nodes.get(index), arenaId, runs));
                try {
                    allocate(runs, nodes.get(index), lmrId, chunkBytes, hasTail ? count - 1 : count, deadline);
                    if (hasTail) {
                        allocate(runs, nodes.get(index), lmrId, tailBytes, 1, deadline);
                    }
                } finally {
                    allocated.set(index, new Share(nodes.get(index), arenaId, runs));
                }
            }
            return allocated;
        } catch (RuntimeException | Error e) {
            reclaimer.giveBackLater(
                    new LmrRecord(lmrId, LmrRecord.State.FREEING, size, chunkShift, 0, Map.of(), allocated));
            throw e;
        }
    }

    UUID arenaId(int node, Deadline deadline) {
        return node == self.id()
                ? arena.id()
                : links.awaitPeer(node, deadline).hello().arenaId();
    }

    private void allocate(List<Run> runs, int node, long lmrId, long unit, long count, Deadline deadline) {
        long missing = count;
        while (missing > 0) {
            List<Run> some = node == self.id()
                    ? allocateHere(lmrId, unit, missing)
                    : calls.allocate(node, lmrId, unit, missing, deadline);
            runs.addAll(some);
            missing -= some.stream().mapToLong(run -> run.length() / unit).sum();
        }
    }

    /** Allocates chunks in this arena; fewer than asked for when they need too many runs for one message. */
    List<Run> allocateHere(long lmrId, long chunkBytes, long count) {
        if (chunkBytes <= 0 || count <= 0 || count > allocator.dataBytes() / chunkBytes) {
            throw new LimitExceededException("node %s: %d chunks of %d bytes are asked for; its arena has %d bytes"
                    .formatted(self.name(), count, chunkBytes, allocator.dataBytes()));
        }
        return allocator.allocate(lmrId, chunkBytes, count, NodeCalls.RUNS_MAX).stream()
                .map(run -> new Run(run.offset(), run.length(), run.entry()))
                .toList();
    }
}
