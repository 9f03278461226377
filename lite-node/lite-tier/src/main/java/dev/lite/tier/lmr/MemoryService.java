package dev.lite.tier.lmr;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.memory.BlankMappings;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.memory.MappingOwner;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Mallocs and maps LMRs for this node's sessions, locks and barriers (paper §4.1, §7.1). Any thread; blocks up to the
 * deadline.
 */
public final class MemoryService {
    public static final int ALL_PERMISSIONS = Permission.toBits(EnumSet.allOf(Permission.class));

    private static final long MOVE_PAUSE_NS = 5_000_000;

    /** How long a handle that ends waits for its operations in flight. */
    private static final Duration END_TIMEOUT = Duration.ofSeconds(5);

    private final int self;
    private final long lmrBytesMax;
    private final ClusterDirectory directory;
    private final LmrRecords records;
    private final LmrPlaces places;
    private final MappingTable mappings;
    private final Mappers mappers;
    private final UnfinishedMoves unfinishedMoves;
    private final LmrCalls calls;
    private final ShareAllocation allocation;
    private final Reclaimer reclaimer;
    private final BlankMappings blanks = new BlankMappings();

    /**
     * @param self this node's id
     * @param lmrBytesMax the largest LMR, in bytes
     */
    MemoryService(
            int self,
            long lmrBytesMax,
            ClusterDirectory directory,
            LmrRecords records,
            LmrPlaces places,
            MappingTable mappings,
            Mappers mappers,
            UnfinishedMoves unfinishedMoves,
            LmrCalls calls,
            ShareAllocation allocation,
            Reclaimer reclaimer) {
        this.self = self;
        this.lmrBytesMax = lmrBytesMax;
        this.directory = directory;
        this.records = records;
        this.places = places;
        this.mappings = mappings;
        this.mappers = mappers;
        this.unfinishedMoves = unfinishedMoves;
        this.calls = calls;
        this.allocation = allocation;
        this.reclaimer = reclaimer;
    }

    /**
     * {@code LT_malloc} of an LMR. Nobody else can map it before {@link #publish}.
     *
     * @param granted the permission bits of the handle
     */
    public Mapping prepare(MappingOwner owner, String principal, LmrSpec spec, int granted, Deadline deadline) {
        if (spec.size() > lmrBytesMax) {
            throw new LimitExceededException(
                    "an LMR of %d bytes is too large; the limit is %d (lite.node.limits.lmr-size)"
                            .formatted(spec.size(), lmrBytesMax));
        }
        if (spec.name() != null
                && directory.read(spec.name(), deadline.remaining()).isPresent()) {
            throw nameTaken(spec.name()); // fail before taking memory
        }
        long id = records.newId(deadline);
        records.beginUnpublished(id);
        boolean prepared = false;
        try {
            Mapping mapping = prepare(id, owner, principal, spec, granted, deadline);
            prepared = true;
            return mapping;
        } finally {
            if (!prepared) {
                records.endUnpublished(id);
            }
        }
    }

    private Mapping prepare(
            long id, MappingOwner owner, String principal, LmrSpec spec, int granted, Deadline deadline) {
        PrincipalBytes.Charge charge = new PrincipalBytes.Charge(principal, true);
        ShareAllocation.Placed placed = place(id, spec, charge, deadline);
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
            Mapping mapping = addNew(lmr, spec.name(), granted, owner, deadline);
            kept = true;
            return mapping;
        } finally {
            if (!kept) {
                reclaimer.giveBackLater(lmr);
            }
        }
    }

    /** Adds it before anybody else knows the LMR: so this handle gets every change after the publication. */
    private Mapping addNew(LmrRecord lmr, @Nullable String name, int granted, MappingOwner owner, Deadline deadline) {
        while (true) {
            long since = mappings.now();
            Mapping mapping = newMapping(lmr, name, granted, owner, deadline);
            if (mappings.add(mapping, since)) {
                return mapping;
            }
            if (deadline.passed()) {
                throw new LiteTimeoutException(deadline.expired("malloc: the nodes of the cluster keep changing"));
            }
        }
    }

    private ShareAllocation.Placed place(long id, LmrSpec spec, PrincipalBytes.Charge charge, Deadline deadline) {
        try {
            return allocation.place(id, spec.size(), charge, spec.placement(), deadline);
        } catch (LimitExceededException e) {
            String message = String.valueOf(e.getMessage());
            // A node knows only the share that it was asked for.
            throw message.contains(Long.toString(spec.size()))
                    ? e
                    : new LimitExceededException("an LMR of %d bytes: %s".formatted(spec.size(), message), e);
        }
    }

    /**
     * Publishes a prepared LMR; frees it if that fails.
     *
     * @param shared whether others may map it as their own as soon as the directory has its name: then it stays if the
     *     directory has it, although the answer was lost
     */
    public void publish(Mapping mapping, boolean shared, Deadline deadline) {
        boolean published = false;
        boolean mayStay = shared;
        try {
            if (!records.isUnpublished(mapping.id())) {
                throw lost();
            }
            LmrRecord lmr = mapping.lmr();
            String name = mapping.name().orElse(null);
            if (name == null) {
                records.add(lmr);
            } else if (!directory.create(name, lmr.encode(), deadline.remaining())) {
                mayStay = false;
                throw nameTaken(name);
            }
            if (!records.publish(mapping.id())) {
                mayStay = false;
                throw lost();
            }
            published = true;
        } finally {
            if (!published) {
                discard(mapping, mayStay);
            }
        }
    }

    private static LmrUnavailableException lost() {
        return new LmrUnavailableException(
                "malloc: this node was out of the cluster for so long that other nodes may have freed memory of the LMR");
    }

    /** Frees a prepared LMR and ends its handle. */
    public void discard(Mapping mapping) {
        discard(mapping, false);
    }

    private void discard(Mapping mapping, boolean unlessPublished) {
        mapping.end(new LmrFreedException("it was not published"));
        // Released, not only removed: the end of its session may release it at the same time, and it counts once.
        // With an operation in flight it stays in the table, where the reclamation finds it.
        if (Mapping.awaitEnd(List.of(mapping), Deadline.in(END_TIMEOUT))) {
            mapping.release();
        }
        String name = mapping.name().orElse(null);
        if (unlessPublished && name != null) {
            reclaimer.reclaimUnlessPublished(name, mapping.lmr());
        } else {
            // If the directory did not answer, it may have the record. So the reclaimer removes the record first.
            reclaimer.reclaimLater(name, mapping.lmr());
        }
        records.endUnpublished(mapping.id());
    }

    private static LmrExistsException nameTaken(String name) {
        return new LmrExistsException("the name \"%s\" belongs to another LMR".formatted(name));
    }

    /** See {@link dev.lite.api.LtMemory#map(String, Set, java.time.Duration)}. */
    public Mapping map(
            MappingOwner owner, String principal, String name, Set<Permission> permissions, Deadline deadline) {
        return map(owner, principal, name, permissions, lmr -> {}, deadline);
    }

    /**
     * {@link #map(MappingOwner, String, String, Set, Deadline)} of the LMR with the name, the size and the default
     * permissions of {@code spec}.
     *
     * @throws LmrExistsException if the LMR has another size or other default permissions
     */
    public Mapping mapSame(
            MappingOwner owner, String principal, LmrSpec spec, Set<Permission> permissions, Deadline deadline) {
        String name = Objects.requireNonNull(spec.name(), "the name");
        return map(owner, principal, name, permissions, lmr -> requireSame(lmr, spec), deadline);
    }

    private static void requireSame(LmrRecord lmr, LmrSpec spec) {
        Set<Permission> defaults = Permission.fromBits(lmr.defaultPermissions());
        if (lmr.size() != spec.size() || !defaults.equals(spec.defaultPermissions())) {
            throw new LmrExistsException(
                    "the LMR \"%s\" exists with %d bytes and the default permissions %s; the request has %d bytes and %s"
                            .formatted(
                                    spec.name(),
                                    lmr.size(),
                                    defaults,
                                    spec.size(),
                                    Permission.fromBits(Permission.toBits(spec.defaultPermissions()))));
        }
    }

    private Mapping map(
            MappingOwner owner,
            String principal,
            String name,
            Set<Permission> permissions,
            Consumer<LmrRecord> check,
            Deadline deadline) {
        int wanted = Permission.toBits(permissions);
        while (true) {
            long since = mappings.now();
            LmrRecord lmr = records.find(name, deadline)
                    .map(LmrRecords.Found::lmr)
                    .filter(record -> record.state() != LmrRecord.State.FREEING)
                    .orElseThrow(() -> new LmrNotFoundException("no LMR has the name \"%s\"".formatted(name)));
            check.accept(lmr);
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
                        deadline.expired("map of LMR \"%s\": its record keeps changing".formatted(name)));
            }
        }
    }

    private void awaitMoved(String name, long id, Deadline deadline) {
        try {
            unfinishedMoves.awaitSettled(name, id, deadline);
        } catch (LmrFreedException e) {
            // The next read finds whether another LMR has this name now.
        }
    }

    /** See {@link dev.lite.api.LtMemory#map(long, Set, java.time.Duration)}. */
    public Mapping map(MappingOwner owner, String principal, long id, Set<Permission> permissions, Deadline deadline) {
        int wanted = Permission.toBits(permissions);
        while (true) {
            long since = mappings.now();
            LmrRecord lmr = recordOfAnonymous(id, principal, wanted, deadline);
            if (lmr.state() == LmrRecord.State.FREEING) {
                throw new LmrNotFoundException("the LMR with the id %d is being freed".formatted(id));
            }
            if (lmr.state() == LmrRecord.State.LIVE) {
                Mapping mapping = newMapping(lmr, null, wanted, owner, deadline);
                if (mappings.add(mapping, since)) {
                    return mapping;
                }
            }
            if (deadline.passed()) {
                throw new LiteTimeoutException(
                        deadline.expired("map of the LMR with the id %d: it is moving".formatted(id)));
            }
            Polling.sleepNs(MOVE_PAUSE_NS);
        }
    }

    private LmrRecord recordOfAnonymous(long id, String principal, int wanted, Deadline deadline) {
        if (id < 0) {
            throw new LmrNotFoundException("no LMR has the id %d; ids are not negative".formatted(id)); // asks no node
        }
        if (records.isMine(id)) {
            return records.findFor(self, id, principal, wanted).lmr();
        }
        if (mappers.isGone(LmrRecords.creator(id), deadline)) {
            throw new NodeUnreachableException("LMR %d is lost: its creator, node %s, is not a live node"
                    .formatted(id, mappers.nameOf(LmrRecords.creator(id))));
        }
        return calls.record(id, principal, wanted, deadline);
    }

    private Mapping newMapping(
            LmrRecord lmr, @Nullable String name, int granted, MappingOwner owner, Deadline deadline) {
        if (LmrPlaces.needsData(granted)) {
            places.requireArenas(lmr, name, deadline);
        }
        return Mapping.open(blanks, lmr, name, granted, places.of(lmr, deadline), owner);
    }

    /**
     * Maps an internal LMR of the tier.
     *
     * @param record reads its record; called again if the LMR is moving
     * @throws dev.lite.api.LmrUnavailableException if a node that held the LMR restarted without it
     */
    Mapping mapInternal(
            String name, int permissions, MappingOwner owner, Supplier<LmrRecord> record, Deadline deadline) {
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
                        deadline.expired("map of internal LMR %d: its record keeps changing".formatted(lmr.id())));
            }
        }
    }

    /** Maps an internal LMR of this arena. Record changes do not reach the mapping; the caller handles them. */
    Mapping mapOwn(LmrRecord lmr, int permissions, MappingOwner owner, Deadline deadline) {
        return newMapping(lmr, null, permissions, owner, deadline);
    }

    /** Allocates memory for an internal word of the tier; see {@link ShareAllocation#placeWord}. */
    Share allocateWord(long id, long length, Deadline deadline) {
        return allocation.placeWord(id, length, deadline).shares().getFirst();
    }
}
