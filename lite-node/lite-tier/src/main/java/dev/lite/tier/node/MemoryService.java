package dev.lite.tier.node;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrNotFoundException;
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
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.RemoteWork;
import dev.lite.tier.RemoteWork.Part;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ExtentRun;
import dev.lite.tier.memory.Layout;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.sync.SyncService;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * LMRs: malloc, map and free, for the sessions of this node and, through {@link NodeCalls}, for other nodes (paper §4.1,
 * §7.1).
 *
 * <p>Memory is given back by the reclamation rule (architecture §6): the record says FREEING, every live node has ended
 * its mappings and said so, only then the extents are free. {@link Reclaimer} carries on where a call's deadline ended.
 */
final class MemoryService implements NodeCalls.Service {
    private static final int ALL_PERMISSIONS = Permission.toBits(EnumSet.allOf(Permission.class));

    private static final long MOVE_PAUSE_NS = 5_000_000;

    private final NodeRecord self;
    private final LiteNodeConfig config;
    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final PrincipalBytes bytes;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final Fencing fencing;
    private final RemoteMemory remoteMemory;
    private final MappingTable mappings = new MappingTable();
    private final AtomicLong lmrCount = new AtomicLong();

    private final LmrRecords records;
    private final ServedWork served;
    private final DrainMarks drainMarks = new DrainMarks();

    /** LMRs that are being made here, or were made and are not published. As many as callers of malloc. */
    private final Set<Long> unpublished = ConcurrentHashMap.newKeySet();

    private LongPredicate isDoubtfulWord = id -> false;
    private @Nullable SyncService sync;
    private @Nullable ShareAllocation allocation;
    private @Nullable OperatorActs operatorActs;
    private @Nullable Orphans orphans;
    private @Nullable LmrCalls lmrCalls;
    private @Nullable RemoteWork remoteWork;
    private @Nullable Reclaimer reclaimer;
    private @Nullable Masters masters;
    private @Nullable Mappers mappers;
    private @Nullable Takeover takeover;
    private @Nullable MappingChanges changes;

    MemoryService(
            NodeRecord self,
            LiteNodeConfig config,
            NodeArena arena,
            ArenaAllocator allocator,
            ClusterDirectory directory,
            PeerLinks links,
            Fencing fencing,
            RemoteMemory remoteMemory) {
        this.self = self;
        this.config = config;
        this.arena = arena;
        this.allocator = allocator;
        this.bytes = new PrincipalBytes(self.name(), allocator, config.limits().bytesPerPrincipal());
        this.directory = directory;
        this.links = links;
        this.fencing = fencing;
        this.remoteMemory = remoteMemory;
        this.records = new LmrRecords(self, directory);
        this.served = new ServedWork(self.id(), arena, allocator, links, remoteMemory);
    }

    /** The rest of the wiring; before anything else is called. Returns what gives memory back, not started yet. */
    Reclaimer start(ControlChannel channel, SyncService syncService, Executor executor) {
        sync = syncService;
        NodeCalls nodeCalls = new NodeCalls(channel);
        LmrCalls calledForLmrs = new LmrCalls(channel);
        Mappers allMappers = new Mappers(self.id(), directory, links, records, fencing, executor);
        RemoteWork work = new WorkCalls(self.id(), calledForLmrs, allMappers, served, executor);
        Reclaimer nodeReclaimer = new Reclaimer(self.id(), records, allMappers, links, nodeCalls);
        lmrCalls = calledForLmrs;
        mappers = allMappers;
        remoteWork = work;
        reclaimer = nodeReclaimer;
        ShareAllocation shareAllocation = new ShareAllocation(
                self, config, arena, allocator, bytes, directory, links, nodeCalls, nodeReclaimer, drainMarks);
        allocation = shareAllocation;
        Relocation relocation = new Relocation(
                self, directory, links, nodeCalls, shareAllocation, nodeReclaimer, drainMarks, this::room);
        Masters allMasters = new Masters(
                self, directory, records, allMappers, calledForLmrs, work, shareAllocation, nodeReclaimer, executor);
        masters = allMasters;
        MappingChanges mappingChanges = new MappingChanges(
                self.name(),
                mappings,
                fencing,
                remoteMemory,
                records,
                calledForLmrs,
                allMasters,
                this::places,
                config.deadline());
        changes = mappingChanges;
        links.addListener(mappingChanges);
        NamedLmrs named = new NamedLmrs(directory, records, executor);
        takeover = new Takeover(self.id(), directory, named, allMasters, nodeReclaimer, executor);
        Orphans nodeOrphans = new Orphans(
                self.id(),
                allocator,
                bytes,
                named,
                this::knows,
                new LmrMakers(self.id(), links, allMappers, nodeCalls, this::knows),
                this::free,
                LiteNode.ORPHAN_GRACE_DEFAULT);
        orphans = nodeOrphans;
        operatorActs = new OperatorActs(
                self,
                allocator,
                records,
                named,
                allMasters,
                allMappers,
                relocation,
                calledForLmrs,
                syncService,
                nodeOrphans,
                executor,
                config.deadline());
        return nodeReclaimer;
    }

    RemoteWork remoteWork() {
        return started(remoteWork);
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

    /** {@code LT_malloc} of an LMR that nobody else can map before {@link #publish}. */
    Mapping prepare(Mapping.Owner owner, String principal, LmrSpec spec, Deadline deadline) {
        if (spec.size() > config.limits().lmrBytesMax()) {
            throw new LimitExceededException(
                    "an LMR of %d bytes is asked for; the limit is %d (lite.node.limits.lmr-size)"
                            .formatted(spec.size(), config.limits().lmrBytesMax()));
        }
        if (spec.name() != null
                && directory.read(spec.name(), deadline.remaining()).isPresent()) {
            throw nameTaken(spec.name()); // before memory is taken for nothing
        }
        long id = newId();
        unpublished.add(id);
        boolean prepared = false;
        try {
            Mapping mapping = prepare(id, owner, principal, spec, deadline);
            prepared = true;
            return mapping;
        } finally {
            if (!prepared) {
                unpublished.remove(id);
            }
        }
    }

    private Mapping prepare(long id, Mapping.Owner owner, String principal, LmrSpec spec, Deadline deadline) {
        PrincipalBytes.Charge charge = new PrincipalBytes.Charge(principal, true);
        ShareAllocation.Placed placed = allocation().place(id, spec.size(), charge, spec.placement(), deadline);
        LmrRecord lmr = new LmrRecord(
                id,
                LmrRecord.State.LIVE,
                spec.size(),
                placed.chunkShift(),
                principal,
                Permission.toBits(spec.defaultPermissions()),
                Map.of(principal, ALL_PERMISSIONS),
                placed.shares(),
                null);
        boolean kept = false;
        try {
            Mapping mapping = newMapping(lmr, spec.name(), ALL_PERMISSIONS, owner, deadline);
            // Before anybody else knows the LMR: what is said of it from its publication on reaches this handle, too.
            kept = mappings.add(mapping, mappings.now());
            return mapping;
        } finally {
            if (!kept) {
                reclaimer().giveBackLater(lmr);
            }
        }
    }

    /** Makes a prepared LMR known; gives it back when that fails. */
    void publish(Mapping mapping, Deadline deadline) {
        boolean published = false;
        try {
            LmrRecord lmr = mapping.lmr();
            String name = mapping.name().orElse(null);
            if (name == null) {
                records.add(lmr);
            } else if (!directory.create(name, lmr.encode(), deadline.remaining())) {
                throw nameTaken(name);
            }
            published = true;
            unpublished.remove(mapping.id());
        } finally {
            if (!published) {
                discard(mapping);
            }
        }
    }

    /** Gives a prepared LMR back, with its handle, which its owner does not count any more. */
    void discard(Mapping mapping) {
        mapping.end(new LmrFreedException("it was not published"));
        mappings.remove(mapping);
        // Also when the directory did not answer: it may have the record, so the reclaimer removes that first.
        reclaimer().reclaimLater(mapping.name().orElse(null), mapping.lmr());
        unpublished.remove(mapping.id());
    }

    private static LmrExistsException nameTaken(String name) {
        return new LmrExistsException("the name \"%s\" belongs to another LMR".formatted(name));
    }

    Mapping map(Mapping.Owner owner, String principal, String name, Set<Permission> permissions, Deadline deadline) {
        int wanted = Permission.toBits(permissions);
        while (true) {
            long since = mappings.now();
            LmrRecord lmr = records.find(name, deadline)
                    .map(LmrRecords.Found::lmr)
                    .filter(record -> record.state() != LmrRecord.State.FREEING)
                    .orElseThrow(() -> new LmrNotFoundException("there is no LMR of the name \"%s\"".formatted(name)));
            int allowed = lmr.permissionsOf(principal);
            if ((wanted & ~allowed) != 0) {
                throw LmrRecords.refusal("LMR \"%s\"".formatted(name), principal, allowed, wanted);
            }
            if (lmr.state() == LmrRecord.State.MOVING) {
                awaitMoved(name, lmr.id(), deadline);
            } else {
                Mapping mapping = newMapping(lmr, name, wanted, owner, deadline);
                if (mappings.add(mapping, since)) {
                    return mapping;
                }
            }
            if (deadline.passed()) {
                throw new LiteTimeoutException(
                        deadline.expired("map of LMR \"%s\", which changes all the time".formatted(name)));
            }
        }
    }

    private void awaitMoved(String name, long id, Deadline deadline) {
        try {
            masters().awaitStill(name, id, deadline);
        } catch (LmrFreedException e) {
            // Then there may be another one of this name, or none: the next look says so.
        }
    }

    Mapping map(Mapping.Owner owner, String principal, long id, Set<Permission> permissions, Deadline deadline) {
        int wanted = Permission.toBits(permissions);
        while (true) {
            long since = mappings.now();
            LmrRecord lmr = recordOfAnonymous(id, principal, wanted, deadline);
            if (lmr.state() == LmrRecord.State.FREEING) {
                throw new LmrNotFoundException("the LMR of the id %d is being freed".formatted(id));
            }
            if (lmr.state() == LmrRecord.State.LIVE) {
                Mapping mapping = newMapping(lmr, null, wanted, owner, deadline);
                if (mappings.add(mapping, since)) {
                    return mapping;
                }
            }
            if (deadline.passed()) {
                throw new LiteTimeoutException(
                        deadline.expired("map of the LMR of the id %d, which moves".formatted(id)));
            }
            LockSupport.parkNanos(MOVE_PAUSE_NS);
        }
    }

    private LmrRecord recordOfAnonymous(long id, String principal, int wanted, Deadline deadline) {
        if (records.isMine(id)) {
            return records.findFor(self.id(), id, principal, wanted).lmr();
        }
        if (started(mappers).isGone(LmrRecords.creator(id))) {
            throw new NodeUnreachableException("the LMR of the id %d was made by node %d, which is no live node"
                    .formatted(id, LmrRecords.creator(id)));
        }
        return lmrCalls().record(id, principal, wanted, deadline);
    }

    private Mapping newMapping(
            LmrRecord lmr, @Nullable String name, int granted, Mapping.Owner owner, Deadline deadline) {
        for (Share share : lmr.shares()) {
            UUID there = share.node() == self.id()
                    ? arena.id()
                    : links.awaitOwner(share.node(), deadline).hello().arenaId();
            if (!there.equals(share.arena())) {
                throw new LmrUnavailableException("%s: node %s came back with a new arena; what lay there is lost"
                        .formatted(
                                name != null ? "LMR \"%s\"".formatted(name) : "anonymous LMR " + lmr.id(),
                                nodeName(share.node())));
            }
        }
        return Mapping.open(lmr, name, granted, places(lmr, deadline), owner);
    }

    /**
     * Maps an LMR of the tier's own.
     *
     * @param record reads its record again when it moves just then
     * @throws LmrUnavailableException when a node that it lies on came back without it
     */
    Mapping mapInternal(
            String name, int permissions, Mapping.Owner owner, Supplier<LmrRecord> record, Deadline deadline) {
        while (true) {
            long since = mappings.now();
            LmrRecord lmr = record.get();
            if (lmr.state() == LmrRecord.State.MOVING) {
                awaitMoved(name, lmr.id(), deadline);
            } else {
                Mapping mapping = newMapping(lmr, name, permissions, owner, deadline);
                if (mappings.add(mapping, since)) {
                    return mapping;
                }
            }
            if (deadline.passed()) {
                throw new LiteTimeoutException(
                        deadline.expired("mapping of internal LMR %d, which changes all the time".formatted(lmr.id())));
            }
        }
    }

    /** A mapping of an internal LMR of this arena that no change of its record reaches: the caller takes care of those. */
    Mapping mapOwn(LmrRecord lmr, int permissions, Mapping.Owner owner, Deadline deadline) {
        return newMapping(lmr, null, permissions, owner, deadline);
    }

    /** A number for a new LMR. */
    long newId() {
        return records.id(lmrCount.incrementAndGet());
    }

    /** Memory for a word of the tier's own, at this node unless it takes nothing in. */
    Share allocateWord(long id, long length, Deadline deadline) {
        return allocation()
                .place(id, length, PrincipalBytes.Charge.NOBODY, Placement.local(), deadline)
                .shares()
                .getFirst();
    }

    void giveBackLater(LmrRecord lmr) {
        reclaimer().giveBackLater(lmr);
    }

    private long[] places(LmrRecord lmr, Deadline deadline) {
        return Layout.places(lmr, node -> mappedBase(node, deadline));
    }

    private long mappedBase(int node, Deadline deadline) {
        return node == self.id()
                ? arena.address()
                : links.awaitOwner(node, deadline).endpoint().mappedAddress();
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
    void free(Mapping mapping, String principal, Deadline deadline) {
        String name = mapping.name().orElse(null);
        if (name == null && !records.isMine(mapping.id())) {
            lmrCalls().freeAtCreator(mapping.id(), principal, deadline);
        } else {
            free(name, mapping.id(), principal, deadline);
        }
    }

    private void free(@Nullable String name, long id, String principal, Deadline deadline) {
        LmrRecord before = masters().change(name, id, deadline, current -> {
            Masters.requireMaster(current, principal, "free");
            return current.withState(LmrRecord.State.FREEING);
        });
        reclaimer().reclaim(name, before, deadline);
    }

    /** Frees a prepared LMR; returns like {@link #free(Mapping, String, Deadline)}. */
    void freePrepared(Mapping mapping, Deadline deadline) {
        reclaimer().reclaim(mapping.name().orElse(null), mapping.lmr(), deadline);
        unpublished.remove(mapping.id());
    }

    void grant(Mapping mapping, String principal, String grantee, Set<Permission> permissions, Deadline deadline) {
        String name = mapping.name().orElse(null);
        int bits = Permission.toBits(permissions);
        if (name == null && !records.isMine(mapping.id())) {
            lmrCalls().grantAtCreator(mapping.id(), principal, grantee, bits, deadline);
        } else {
            masters().grant(name, mapping.id(), principal, grantee, bits, deadline);
        }
    }

    void move(Mapping mapping, String principal, String node, Deadline deadline) {
        String name = mapping.name().orElse(null);
        if (name == null && !records.isMine(mapping.id())) {
            lmrCalls().moveAtCreator(mapping.id(), principal, node, deadline);
        } else {
            masters().move(name, mapping.id(), principal, node, deadline);
        }
    }

    @Override
    public void freeMine(long lmrId, String principal, Deadline deadline) {
        free(null, lmrId, principal, deadline);
    }

    @Override
    public void grantMine(long lmrId, String principal, String grantee, int permissions, Deadline deadline) {
        masters().grant(null, lmrId, principal, grantee, permissions, deadline);
    }

    @Override
    public void moveMine(long lmrId, String principal, String node, Deadline deadline) {
        masters().move(null, lmrId, principal, node, deadline);
    }

    @Override
    public void evacuateMine(long lmrId, int node, Deadline deadline) {
        operatorActs().evacuate(null, lmrId, node, deadline);
    }

    /** What this node does for an operator. */
    OperatorActs operatorActs() {
        return started(operatorActs);
    }

    Orphans orphans() {
        return started(orphans);
    }

    @Override
    public boolean knows(long lmrId) {
        return unpublished.contains(lmrId) || records.knows(lmrId) || isDoubtfulWord.test(lmrId);
    }

    /** Who says whether a word of a lock or barrier may have a record; before the start. */
    void setDoubtfulWords(LongPredicate doubtful) {
        isDoubtfulWord = doubtful;
    }

    DrainMarks drainMarks() {
        return drainMarks;
    }

    @Override
    public NodeCalls.Room room() {
        return new NodeCalls.Room(allocator.dataBytes(), drainMarks.isClosed() ? 0 : allocator.freeBytes());
    }

    @Override
    public LmrRecords.Found record(int caller, long lmrId, String principal, int wanted) {
        return records.findFor(caller, lmrId, principal, wanted);
    }

    @Override
    public void memset(int caller, long lmrId, List<Run> runs, byte value) {
        served.memset(caller, lmrId, runs, value);
    }

    @Override
    public void copy(int caller, Part source, Part target, long length, Deadline deadline) {
        served.copy(caller, source, target, length, deadline);
    }

    @Override
    public void quiesce(int caller, Deadline deadline) {
        served.quiesce(caller, deadline);
    }

    /** Somebody is fenced who was not before: what it left unfinished is carried on. Does not block. */
    void takeOver() {
        started(takeover).begin();
    }

    /** What changes do to the mappings of this node. */
    MappingChanges changes() {
        return started(changes);
    }

    @Override
    public void refresh(long lmrId, Deadline deadline) {
        changes().refresh(lmrId, deadline);
    }

    @Override
    public void revoke(long lmrId) {
        changes().revoke(lmrId);
    }

    /** Frees an LMR in the background; for a session's end. */
    void freeLater(@Nullable String name, LmrRecord lmr) {
        reclaimer().reclaimLater(name, lmr);
        unpublished.remove(lmr.id());
    }

    @Override
    public List<Run> allocate(long lmrId, long chunkBytes, long count, PrincipalBytes.Charge charge) {
        started(sync).memoryGiven(lmrId);
        return allocation().allocateHere(lmrId, chunkBytes, count, charge);
    }

    @Override
    public void free(long lmrId, List<Run> runs) {
        served.exclusively(lmrId, () -> {
            for (Run run : runs) {
                bytes.free(lmrId, new ExtentRun(run.offset(), run.length(), run.entry()));
            }
        });
    }

    /** The live nodes, in the order of their ids. */
    List<NodeRecord> live() {
        return directory.nodes().stream()
                .sorted(Comparator.comparingInt(NodeRecord::id))
                .toList();
    }

    private ShareAllocation allocation() {
        return started(allocation);
    }

    private LmrCalls lmrCalls() {
        return started(lmrCalls);
    }

    private Reclaimer reclaimer() {
        return started(reclaimer);
    }

    private Masters masters() {
        return started(masters);
    }

    private static <T> T started(@Nullable T part) {
        return java.util.Objects.requireNonNull(part, "start() comes first");
    }
}
