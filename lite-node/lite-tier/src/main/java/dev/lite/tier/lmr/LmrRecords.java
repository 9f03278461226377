package dev.lite.tier.lmr;

import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.Permission;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.VersionedRecord;
import dev.lite.os.waiting.Deadline;
import java.util.BitSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Where the record of an LMR is: of one with a name in the cluster directory, of one without at the node that made it, which
 * its id names. So a million anonymous LMRs cost the directory nothing. Any thread.
 *
 * <p>Memory: for every anonymous LMR that this node made, until it is freed, about 260 bytes of heap (its record of one
 * extent 180, the entry here 80), of which a mapping of this node shares the record. Their number is bounded by the
 * arena's extents. They end with the process: nobody finds them afterwards.
 */
public final class LmrRecords {
    // An id: node, its incarnation (which grows also when its arena is a new one), a count.
    private static final int ID_NODE_SHIFT = 53;
    private static final int ID_INCARNATION_SHIFT = 31;
    private static final long ID_INCARNATION_MASK = (1L << (ID_NODE_SHIFT - ID_INCARNATION_SHIFT)) - 1;

    private final NodeRecord self;
    private final ClusterDirectory directory;
    private final AtomicLong count = new AtomicLong();
    private final Map<Long, Anonymous> anonymous = new ConcurrentHashMap<>();

    /** LMRs that are being made here, or were made and are not published. As many as callers of malloc. */
    private final Set<Long> unpublished = ConcurrentHashMap.newKeySet();

    /** An LMR without a name. Guarded by itself. */
    private static final class Anonymous {
        private LmrRecord lmr;
        private int version;
        /** The other nodes that mapped it once; null when none did. */
        private @Nullable BitSet mappers;

        Anonymous(LmrRecord lmr) {
            this.lmr = lmr;
        }
    }

    /** A record and the version that {@link #replace} asks for. */
    public record Found(LmrRecord lmr, int version) {}

    LmrRecords(NodeRecord self, ClusterDirectory directory) {
        this.self = self;
        this.directory = directory;
    }

    /** A new LMR's id. */
    long newId() {
        return (long) self.id() << ID_NODE_SHIFT
                | (self.incarnation() & ID_INCARNATION_MASK) << ID_INCARNATION_SHIFT
                | count.incrementAndGet();
    }

    /** The node that made an LMR. */
    public static int creator(long id) {
        return (int) (id >>> ID_NODE_SHIFT);
    }

    /** Whether this node has the record of an LMR without a name. */
    public boolean isMine(long id) {
        return creator(id) == self.id();
    }

    /** Whether an LMR without a name was made by this process, and has not been freed. */
    public boolean hasAnonymous(long id) {
        return anonymous.containsKey(id);
    }

    /** Whether this process made an LMR and knows of it: one without a name, or one that is not published yet. */
    public boolean knows(long id) {
        return unpublished.contains(id) || hasAnonymous(id);
    }

    /** Says that an LMR is being made here, or was made and may have no record yet; {@link #endUnpublished} follows. */
    void beginUnpublished(long id) {
        unpublished.add(id);
    }

    /** Ends {@link #beginUnpublished}: the LMR has a record, or its memory is being given back. */
    void endUnpublished(long id) {
        unpublished.remove(id);
    }

    /** Keeps the record of a new LMR without a name. */
    void add(LmrRecord lmr) {
        anonymous.put(lmr.id(), new Anonymous(lmr));
    }

    /** The record of a name. */
    public Optional<Found> find(String name, Deadline deadline) {
        return directory
                .read(name, deadline.remaining())
                .map(found -> new Found(LmrRecord.decode(found.bytes()), found.version()));
    }

    /** The record of this LMR, which has this name or none and was made here. */
    public Optional<Found> find(@Nullable String name, long id, Deadline deadline) {
        if (name != null) {
            return find(name, deadline).filter(found -> found.lmr().id() == id);
        }
        Anonymous known = anonymous.get(id);
        if (known == null) {
            return Optional.empty();
        }
        synchronized (known) {
            return Optional.of(new Found(known.lmr, known.version));
        }
    }

    /**
     * The record of an LMR without a name that was made here, for a node that maps it or has it mapped: that node is notified of
     * every change from now on.
     *
     * @param wanted permission bits that the principal must have
     */
    Found findFor(int node, long id, String principal, int wanted) {
        Anonymous known = anonymous.get(id);
        if (known == null) {
            throw new LmrNotFoundException(
                    "node %s knows no LMR of the id %d: it was freed, or made before the node started"
                            .formatted(self.name(), id));
        }
        synchronized (known) {
            int allowed = known.lmr.permissionsOf(principal);
            if ((wanted & ~allowed) != 0) {
                throw refusal("the LMR of the id " + id, principal, allowed, wanted);
            }
            if (node != self.id()) {
                if (known.mappers == null) {
                    known.mappers = new BitSet();
                }
                known.mappers.set(node);
            }
            return new Found(known.lmr, known.version);
        }
    }

    static LmrPermissionException refusal(String lmr, String principal, int allowed, int wanted) {
        return new LmrPermissionException("%s: principal \"%s\" may %s; %s is asked for"
                .formatted(
                        lmr,
                        principal,
                        allowed == 0
                                ? "do nothing"
                                : Permission.fromBits(allowed).toString(),
                        Permission.fromBits(wanted)));
    }

    /** Puts another record in the place of the one that was found; false when somebody else was faster. */
    boolean replace(@Nullable String name, Found found, LmrRecord lmr, Deadline deadline) {
        if (name != null) {
            return directory
                    .compareAndSet(name, found.version(), lmr.encode(), deadline.remaining())
                    .isPresent();
        }
        Anonymous known = anonymous.get(lmr.id());
        if (known == null) {
            return false;
        }
        synchronized (known) {
            if (known.version != found.version()) {
                return false;
            }
            known.lmr = lmr;
            known.version++;
            return true;
        }
    }

    /** Forgets an LMR whose memory is free; false when its record has changed. */
    boolean remove(@Nullable String name, long id, Deadline deadline) {
        if (name == null) {
            anonymous.remove(id);
            return true;
        }
        Optional<VersionedRecord> found = directory
                .read(name, deadline.remaining())
                .filter(record -> LmrRecord.decode(record.bytes()).id() == id);
        return found.isEmpty() || directory.delete(name, found.get().version(), deadline.remaining());
    }

    /** The other nodes that may have an LMR without a name mapped. */
    Set<Integer> mappers(long id) {
        Set<Integer> nodes = new TreeSet<>();
        Anonymous known = anonymous.get(id);
        if (known != null) {
            synchronized (known) {
                if (known.mappers != null) {
                    known.mappers.stream().forEach(nodes::add);
                }
            }
        }
        return nodes;
    }
}
