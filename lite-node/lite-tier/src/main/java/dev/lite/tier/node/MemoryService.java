package dev.lite.tier.node;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.VersionedRecord;
import dev.lite.tier.Deadline;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ExtentRun;
import dev.lite.tier.memory.Layout;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.peer.PeerListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * LMRs: malloc, map and free, for the sessions of this node and, through {@link NodeCalls}, for other nodes (paper §4.1,
 * §7.1).
 *
 * <p>Memory is given back by the reclamation rule (architecture §6): the record says FREEING, every live node has ended
 * its mappings and said so, only then the extents are free. {@link Reclaimer} carries on where a call's deadline ended.
 */
final class MemoryService implements NodeCalls.Service, PeerListener {
    private static final int ALL_PERMISSIONS = Permission.toBits(EnumSet.allOf(Permission.class));

    /** How long a node waits for its own operations before it tells the master that it could not end them. */
    private static final Duration GIVEN_UP_PATIENCE = Duration.ofSeconds(5);

    // An id: node, its incarnation (which grows also when its arena is a new one), a count.
    private static final int ID_NODE_SHIFT = 53;
    private static final int ID_INCARNATION_SHIFT = 31;
    private static final long ID_INCARNATION_MASK = (1L << (ID_NODE_SHIFT - ID_INCARNATION_SHIFT)) - 1;

    private final NodeRecord self;
    private final LiteNodeConfig config;
    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final RemoteMemory remoteMemory;
    private final MappingTable mappings = new MappingTable();
    private final AtomicLong lmrCount = new AtomicLong();
    private final AtomicInteger turn = new AtomicInteger();
    private final Map<Integer, UUID> arenaIds = new HashMap<>(); // of the polling threads; guarded by itself

    private @Nullable NodeCalls calls;
    private @Nullable Reclaimer reclaimer;

    MemoryService(
            NodeRecord self,
            LiteNodeConfig config,
            NodeArena arena,
            ArenaAllocator allocator,
            ClusterDirectory directory,
            PeerLinks links,
            RemoteMemory remoteMemory) {
        this.self = self;
        this.config = config;
        this.arena = arena;
        this.allocator = allocator;
        this.directory = directory;
        this.links = links;
        this.remoteMemory = remoteMemory;
        links.addListener(this);
    }

    /** The rest of the wiring; before anything else is called. */
    void start(NodeCalls nodeCalls, Reclaimer nodeReclaimer) {
        calls = nodeCalls;
        reclaimer = nodeReclaimer;
    }

    RemoteMemory remoteMemory() {
        return remoteMemory;
    }

    String nodeName(int node) {
        return directory.nodes().stream()
                .filter(record -> record.id() == node)
                .map(NodeRecord::name)
                .findFirst()
                .orElse("node " + node);
    }

    Mapping malloc(Mapping.Owner owner, String principal, LmrSpec spec, Deadline deadline) {
        if (spec.size() > config.limits().lmrBytesMax()) {
            throw new LimitExceededException(
                    "an LMR of %d bytes is asked for; the limit is %d (lite.node.limits.lmr-size)"
                            .formatted(spec.size(), config.limits().lmrBytesMax()));
        }
        if (spec.name() != null
                && directory.read(spec.name(), deadline.remaining()).isPresent()) {
            throw nameTaken(spec.name()); // before memory is taken for nothing
        }
        List<Integer> nodes = nodesFor(spec.placement());
        LmrRecord lmr = allocateAll(newId(), spec, principal, nodes, deadline);
        boolean kept = false;
        mappings.begin(); // as soon as it has a name, another session may map and free it
        try {
            if (spec.name() != null && !directory.create(spec.name(), lmr.encode(), deadline.remaining())) {
                throw nameTaken(spec.name());
            }
            Mapping mapping = newMapping(lmr, spec.name(), ALL_PERMISSIONS, owner, deadline);
            kept = mappings.add(mapping);
            if (!kept) {
                throw freedAlready(String.valueOf(spec.name()));
            }
            return mapping;
        } finally {
            mappings.finish();
            if (!kept) {
                // Also when the directory did not answer: it may have the record, so the reclaimer removes that first.
                reclaimer().reclaimLater(spec.name(), lmr);
            }
        }
    }

    private static LmrExistsException nameTaken(String name) {
        return new LmrExistsException("the name \"%s\" belongs to another LMR".formatted(name));
    }

    long newId() {
        return (long) self.id() << ID_NODE_SHIFT
                | (self.incarnation() & ID_INCARNATION_MASK) << ID_INCARNATION_SHIFT
                | lmrCount.incrementAndGet();
    }

    private List<Integer> nodesFor(Placement placement) {
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

    private LmrRecord allocateAll(long lmrId, LmrSpec spec, String principal, List<Integer> nodes, Deadline deadline) {
        int chunkShift = Layout.chunkShift(spec.size(), nodes.size());
        long chunkBytes = 1L << chunkShift;
        long chunks = ((spec.size() - 1) >>> chunkShift) + 1;
        if (chunks > Integer.MAX_VALUE - 8) {
            throw new LimitExceededException("an LMR of %d bytes has %d chunks of %d bytes; the limit is %d"
                    .formatted(spec.size(), chunks, chunkBytes, Integer.MAX_VALUE - 8));
        }
        int shares = (int) Math.min(nodes.size(), chunks);
        long tailBytes = spec.size() - (chunks - 1) * chunkBytes;
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
            return record(lmrId, spec, principal, chunkShift, allocated);
        } catch (RuntimeException | Error e) {
            reclaimer().reclaimLater(null, record(lmrId, spec, principal, chunkShift, allocated));
            throw e;
        }
    }

    private UUID arenaId(int node, Deadline deadline) {
        return node == self.id()
                ? arena.id()
                : links.awaitPeer(node, deadline).hello().arenaId();
    }

    private static LmrRecord record(long id, LmrSpec spec, String principal, int chunkShift, List<Share> shares) {
        return new LmrRecord(
                id,
                LmrRecord.State.LIVE,
                spec.size(),
                chunkShift,
                Permission.toBits(spec.defaultPermissions()),
                Map.of(principal, ALL_PERMISSIONS),
                shares);
    }

    private void allocate(List<Run> runs, int node, long lmrId, long unit, long count, Deadline deadline) {
        long missing = count;
        while (missing > 0) {
            List<Run> some = node == self.id()
                    ? allocate(lmrId, unit, missing)
                    : calls().allocate(node, lmrId, unit, missing, deadline);
            runs.addAll(some);
            missing -= some.stream().mapToLong(run -> run.length() / unit).sum();
        }
    }

    Mapping map(Mapping.Owner owner, String principal, String name, Set<Permission> permissions, Deadline deadline) {
        int wanted = Permission.toBits(permissions);
        mappings.begin();
        try {
            Optional<VersionedRecord> found = directory.read(name, deadline.remaining());
            LmrRecord lmr = found.map(record -> LmrRecord.decode(record.bytes()))
                    .filter(record -> record.state() == LmrRecord.State.LIVE)
                    .orElseThrow(() -> new LmrNotFoundException("there is no LMR of the name \"%s\"".formatted(name)));
            int allowed = lmr.permissionsOf(principal);
            if ((wanted & ~allowed) != 0) {
                throw new LmrPermissionException("LMR \"%s\": principal \"%s\" may %s; %s is asked for"
                        .formatted(
                                name,
                                principal,
                                allowed == 0
                                        ? "do nothing"
                                        : Permission.fromBits(allowed).toString(),
                                permissions));
            }
            Mapping mapping = newMapping(lmr, name, wanted, owner, deadline);
            if (!mappings.add(mapping)) {
                throw new LmrNotFoundException("the LMR of the name \"%s\" is being freed".formatted(name));
            }
            return mapping;
        } finally {
            mappings.finish();
        }
    }

    private Mapping newMapping(
            LmrRecord lmr, @Nullable String name, int granted, Mapping.Owner owner, Deadline deadline) {
        for (Share share : lmr.shares()) {
            if (!arenaId(share.node(), deadline).equals(share.arena())) {
                throw new LmrUnavailableException("%s: node %s came back with a new arena; what lay there is lost"
                        .formatted(
                                name != null ? "LMR \"%s\"".formatted(name) : "anonymous LMR " + lmr.id(),
                                nodeName(share.node())));
            }
        }
        long[] places = Layout.places(lmr, node -> {
            if (node == self.id()) {
                return arena.address();
            }
            return links.awaitPeer(node, deadline).endpoint().mappedAddress();
        });
        return Mapping.open(lmr, name, granted, places, owner);
    }

    /**
     * Maps an LMR of the tier's own, whose record the caller has.
     *
     * @throws LmrUnavailableException when a node that it lies on came back without it
     */
    Mapping mapInternal(LmrRecord lmr, String what, int permissions, Mapping.Owner owner, Deadline deadline) {
        Mapping mapping = newMapping(lmr, what, permissions, owner, deadline);
        mappings.add(mapping); // nobody revokes it
        return mapping;
    }

    /** A handle was given back. */
    void unmapped(Mapping mapping) {
        mappings.remove(mapping);
    }

    /** Every handle of a session, for its end. */
    List<Mapping> mappingsOf(Mapping.Owner owner) {
        return mappings.find(mapping -> mapping.owner() == owner);
    }

    int mappingCount() {
        return mappings.size();
    }

    /** {@code LT_free}; returns when the LMR is free, or at the deadline, when the reclaimer goes on by itself. */
    void free(@Nullable String name, LmrRecord lmr, Deadline deadline) {
        if (name != null) {
            VersionedRecord found = directory.read(name, deadline.remaining()).orElseThrow(() -> freedAlready(name));
            LmrRecord current = LmrRecord.decode(found.bytes());
            if (current.id() != lmr.id() || current.state() != LmrRecord.State.LIVE) {
                throw freedAlready(name);
            }
            byte[] freeing = current.withState(LmrRecord.State.FREEING).encode();
            if (directory
                    .compareAndSet(name, found.version(), freeing, deadline.remaining())
                    .isEmpty()) {
                throw freedAlready(name);
            }
        }
        reclaimer().reclaim(name, lmr, deadline);
    }

    /** Frees an LMR in the background; for a session's end. */
    void freeLater(@Nullable String name, LmrRecord lmr) {
        reclaimer().reclaimLater(name, lmr);
    }

    private static LmrFreedException freedAlready(String name) {
        return new LmrFreedException("LMR \"%s\": it was freed by another master".formatted(name));
    }

    @Override
    public List<Run> allocate(long lmrId, long chunkBytes, long count) {
        if (chunkBytes <= 0 || count <= 0 || count > allocator.dataBytes() / chunkBytes) {
            throw new LimitExceededException("node %s: %d chunks of %d bytes are asked for; its arena has %d bytes"
                    .formatted(self.name(), count, chunkBytes, allocator.dataBytes()));
        }
        return allocator.allocate(lmrId, chunkBytes, count, NodeCalls.RUNS_MAX).stream()
                .map(run -> new Run(run.offset(), run.length(), run.entry()))
                .toList();
    }

    @Override
    public void free(long lmrId, List<Run> runs) {
        for (Run run : runs) {
            allocator.free(lmrId, new ExtentRun(run.offset(), run.length(), run.entry()));
        }
    }

    @Override
    public void revoke(long lmrId) {
        endAll(mappings.revoke(lmrId), new LmrFreedException("the LMR was freed by a master"));
    }

    /** Ends mappings that are out of the table, and returns when nobody here can touch their memory any more. */
    void endAll(List<Mapping> ending, LiteException why) {
        ending.forEach(mapping -> mapping.end(why));
        Mapping.awaitEnd(ending);
        ending.forEach(Mapping::release);
        // Also when nothing is mapped any more: a handle may have been unmapped after its write was given up.
        Deadline deadline = Deadline.in(GIVEN_UP_PATIENCE);
        if (!remoteMemory.awaitGivenUp(deadline)) {
            throw deadline.exception("ending operations that were given up before");
        }
    }

    /** A node that came back without its memory has lost what was there. */
    @Override
    public void peerConnected(Peer peer) {
        UUID former;
        synchronized (arenaIds) {
            former = arenaIds.put(peer.id(), peer.hello().arenaId());
        }
        if (former != null && !former.equals(peer.hello().arenaId())) {
            LiteException why = new LmrUnavailableException("node %s came back with a new arena; what lay there is lost"
                    .formatted(peer.hello().node()));
            for (Mapping mapping : mappings.find(
                    found -> found.lmr().shares().stream().anyMatch(share -> share.node() == peer.id()))) {
                mapping.end(why);
            }
        }
    }

    /** The live nodes, in the order of their ids. */
    List<NodeRecord> live() {
        return directory.nodes().stream()
                .sorted(Comparator.comparingInt(NodeRecord::id))
                .toList();
    }

    private NodeCalls calls() {
        return java.util.Objects.requireNonNull(calls, "start() comes first");
    }

    private Reclaimer reclaimer() {
        return java.util.Objects.requireNonNull(reclaimer, "start() comes first");
    }
}
