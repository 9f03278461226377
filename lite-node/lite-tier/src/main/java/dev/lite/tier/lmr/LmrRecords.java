package dev.lite.tier.lmr;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.Permission;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.VersionedRecord;
import dev.lite.os.waiting.Deadline;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The records of LMRs. The cluster directory keeps the record of a named LMR. The node that created an anonymous LMR
 * keeps its record, and the LMR's id contains that node. So a million anonymous LMRs cost the directory nothing. Any
 * thread.
 *
 * <p>Memory: about 260 bytes of heap for every anonymous LMR that this node created, until it is freed: 180 for a
 * record of one extent, which mappings of this node share, and 80 for the entry here. The arena's extents bound their
 * number. The records end with the process; nobody can find these LMRs afterwards.
 */
public final class LmrRecords {
    private static final Logger log = LoggerFactory.getLogger(LmrRecords.class);
    private static final int ID_NODE_SHIFT = 53;
    private static final int ID_BLOCK_SHIFT = 30;

    /** The number of ids in a block; see {@link Ids}. */
    static final long IDS_PER_BLOCK = 1L << ID_BLOCK_SHIFT;

    /** With so many ids left, a process takes its next block in advance: half an hour at 10,000 LMRs a second. */
    static final long IDS_RESERVED = 1L << 24;

    /** How many ids are drawn between two attempts to take the next block in advance. */
    private static final long IDS_PER_ATTEMPT = 1L << 16;

    private final NodeRecord self;
    private final ClusterDirectory directory;
    private final Ids ids;
    private final Map<Long, Anonymous> anonymous = new ConcurrentHashMap<>();

    /** LMRs that this node is creating or has not published yet. At most one for each caller of malloc. */
    private final Set<Long> unpublished = ConcurrentHashMap.newKeySet();

    /** An anonymous LMR. Guarded by itself. */
    private static final class Anonymous {
        private LmrRecord lmr;
        private int version;
        /** The other nodes that have ever mapped it; null if none did. */
        private @Nullable BitSet mappers;

        Anonymous(LmrRecord lmr) {
            this.lmr = lmr;
        }
    }

    /** A record and its version, for {@link #replace}. */
    public record Found(LmrRecord lmr, int version) {}

    LmrRecords(NodeRecord self, ClusterDirectory directory) {
        this.self = self;
        this.directory = directory;
        this.ids = new Ids(self, directory);
    }

    /**
     * Draws the id of a new LMR. It is never drawn again, by this or any other process.
     *
     * @throws dev.lite.api.ClusterUnavailableException if this process has used up its block of ids, about a day of
     *     10,000 LMRs a second, and the directory has not answered for half an hour
     */
    long newId(Deadline deadline) {
        return ids.next(deadline);
    }

    /** For tests: uses up ids. */
    void skipIds(long count) {
        ids.skip(count);
    }

    /** The node that created an LMR. */
    public static int creator(long id) {
        return (int) (id >>> ID_NODE_SHIFT);
    }

    /** Whether this node keeps the record of an anonymous LMR. */
    public boolean isMine(long id) {
        return creator(id) == self.id();
    }

    /** Whether this process created an anonymous LMR that is not freed yet. */
    public boolean hasAnonymous(long id) {
        return anonymous.containsKey(id);
    }

    /** Whether this process created an LMR and still knows it: an anonymous or an unpublished one. */
    public boolean knows(long id) {
        return unpublished.contains(id) || hasAnonymous(id);
    }

    /**
     * The ids that this process draws. An id is the node (10 bits), a block (23 bits) and a count within it (30 bits).
     * A process begins with the block of its incarnation, which is its own. When that is used up, it takes a block from
     * the node's record in the directory, which gives each block once. The two highest bits of a block are 10 for an
     * incarnation and 11 for a taken block; ids of earlier versions begin with 0. At 10,000 LMRs a second the blocks of
     * one node last for 7,000 years.
     */
    private static final class Ids {
        private static final long BLOCKS = 1L << 21; // of each kind
        private static final long OWN = 2 * BLOCKS;
        private static final long TAKEN = 3 * BLOCKS;

        private final NodeRecord self;
        private final ClusterDirectory directory;
        private final ReentrantLock taking = new ReentrantLock();
        private volatile Block block;
        private volatile @Nullable Block spare; // replaced under the lock

        /** Compared by identity. */
        private static final class Block {
            private final long number;
            private final AtomicLong used; // more than there are once the block is used up

            Block(long number, long used) {
                this.number = number;
                this.used = new AtomicLong(used);
            }
        }

        Ids(NodeRecord self, ClusterDirectory directory) {
            this.self = self;
            this.directory = directory;
            boolean named = self.incarnation() < BLOCKS;
            this.block = named
                    ? new Block(OWN | self.incarnation(), 0)
                    : new Block(0, IDS_PER_BLOCK); // used up, so that the first draw takes one
        }

        long next(Deadline deadline) {
            while (true) {
                Block current = block;
                long count = current.used.getAndIncrement();
                if (count < IDS_PER_BLOCK) {
                    if (count >= IDS_PER_BLOCK - IDS_RESERVED && count % IDS_PER_ATTEMPT == 0) {
                        takeInAdvance(deadline);
                    }
                    return (long) self.id() << ID_NODE_SHIFT | current.number << ID_BLOCK_SHIFT | count;
                }
                replace(current, deadline);
            }
        }

        void skip(long count) {
            block.used.addAndGet(count);
        }

        private void takeInAdvance(Deadline deadline) {
            if (spare == null && taking.tryLock()) {
                try {
                    spare = new Block(take(deadline), 0);
                } catch (ClusterUnavailableException e) {
                    log.debug("cannot take the next block of LMR ids yet: {}", e.getMessage());
                } finally {
                    taking.unlock();
                }
            }
        }

        private void replace(Block usedUp, Deadline deadline) {
            taking.lock();
            try {
                if (block == usedUp) {
                    Block next = spare;
                    block = next != null ? next : new Block(take(deadline), 0);
                    spare = null;
                }
            } finally {
                taking.unlock();
            }
        }

        /** Takes a block from the node's record: the number of the next block, and the process that took the last. */
        private long take(Deadline deadline) {
            String name = ClusterDirectory.INTERNAL_PREFIX + "ids/" + self.id();
            while (true) {
                Optional<VersionedRecord> found = directory.read(name, deadline.remaining());
                long number = found.map(
                                record -> ByteBuffer.wrap(record.bytes()).getLong())
                        .orElse(0L);
                if (number >= BLOCKS) {
                    throw new LimitExceededException("node %s has taken %d blocks of LMR ids; there are %d"
                            .formatted(self.name(), number, BLOCKS));
                }
                // The process makes two first records different: creating the same one again would succeed.
                byte[] next = ByteBuffer.allocate(2 * Long.BYTES)
                        .putLong(number + 1)
                        .putLong(self.process())
                        .array();
                boolean taken = found.isPresent()
                        ? directory
                                .compareAndSet(name, found.get().version(), next, deadline.remaining())
                                .isPresent()
                        : directory.create(name, next, deadline.remaining());
                if (taken) {
                    return TAKEN | number;
                }
                if (deadline.passed()) {
                    throw new ClusterUnavailableException(deadline.expired("taking a block of LMR ids"));
                }
            }
        }
    }

    /** Marks an LMR as unpublished: it may have no record yet. {@link #endUnpublished} must follow. */
    void beginUnpublished(long id) {
        unpublished.add(id);
    }

    /** Ends {@link #beginUnpublished}: the LMR has a record, or its memory is being freed. */
    void endUnpublished(long id) {
        unpublished.remove(id);
    }

    /** {@link #endUnpublished} of an LMR that has its record now; false: it was lost meanwhile ({@link #loseGivenUp}). */
    boolean publish(long id) {
        return unpublished.remove(id);
    }

    /** Whether an LMR that this node creates may have no record yet. */
    boolean isUnpublished(long id) {
        return unpublished.contains(id);
    }

    /** Stores the record of a new anonymous LMR. */
    void add(LmrRecord lmr) {
        anonymous.put(lmr.id(), new Anonymous(lmr));
    }

    /** Finds the record of a name. */
    public Optional<Found> find(String name, Deadline deadline) {
        return directory
                .read(name, deadline.remaining())
                .map(found -> new Found(LmrRecord.decode(found.bytes()), found.version()));
    }

    /** Finds the record of this LMR, which has this name, or is anonymous and was created here. */
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
     * Finds the record of an anonymous LMR created here, for a node that maps it or has it mapped. From now on that
     * node is notified of every change.
     *
     * @param wanted permission bits that the principal must have
     */
    Found findFor(int node, long id, String principal, int wanted) {
        Anonymous known = anonymous.get(id);
        if (known == null) {
            throw new LmrNotFoundException(
                    "node %s has no LMR with the id %d: it was freed, or created before the node started"
                            .formatted(self.name(), id));
        }
        synchronized (known) {
            int allowed = known.lmr.permissionsOf(principal);
            if ((wanted & ~allowed) != 0) {
                throw refusal("the LMR with the id " + id, principal, allowed, wanted);
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

    /**
     * Checks that a principal is a master of an LMR.
     *
     * @param what the master's operation, for the message
     */
    static void requireMaster(LmrRecord lmr, String principal, String what) {
        int allowed = lmr.permissionsOf(principal);
        if ((allowed & Permission.MASTER.bit()) == 0) {
            throw refusal(what + " of LMR " + lmr.id(), principal, allowed, Permission.MASTER.bit());
        }
    }

    static LmrPermissionException refusal(String lmr, String principal, int allowed, int wanted) {
        return new LmrPermissionException("%s: principal \"%s\" may %s; the request needs %s"
                .formatted(
                        lmr,
                        principal,
                        allowed == 0
                                ? "do nothing"
                                : Permission.fromBits(allowed).toString(),
                        Permission.fromBits(wanted)));
    }

    /**
     * Replaces the record that was found; false if it has changed since.
     *
     * @throws LimitExceededException if it has become too long for other nodes to read
     */
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
            if (lmr.move() != null || lmr.grants().size() > known.lmr.grants().size()) { // it may be longer
                byte[] unused = lmr.encode();
            }
            known.lmr = lmr;
            known.version++;
            return true;
        }
    }

    /** Removes the record of an LMR after its memory is freed; false if the record has changed. */
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

    /**
     * Notes in the directory that other nodes free memory of a creator's anonymous LMRs, because it is gone. If its
     * process still lives and returns, it has lost them ({@link #loseGivenUp}). After this call, check again whether it
     * is gone.
     *
     * @param incarnation the creator's last one
     */
    public void giveUp(int creator, long incarnation, Deadline deadline) {
        givenUp(creator).raise(incarnation, deadline);
    }

    /**
     * The anonymous LMRs created here that have memory at other nodes, if those have begun to free it because this node
     * was gone. From now on they are FREEING, and no unpublished LMR is known. Call this after this node has registered
     * again, and before it uses them.
     *
     * @param incarnation the last one under which this node used them
     */
    List<LmrRecord> loseGivenUp(long incarnation, Deadline deadline) {
        if (givenUp(self.id()).read(deadline) < incarnation) {
            return List.of();
        }
        unpublished.clear();
        List<LmrRecord> lost = new ArrayList<>();
        for (Anonymous known : anonymous.values()) {
            synchronized (known) {
                if (known.lmr.state() != LmrRecord.State.FREEING && isPartlyElsewhere(known.lmr)) {
                    known.lmr = known.lmr.withState(LmrRecord.State.FREEING);
                    known.version++;
                    lost.add(known.lmr);
                }
            }
        }
        return lost;
    }

    /** Also if it is just moving there. */
    private boolean isPartlyElsewhere(LmrRecord lmr) {
        LmrRecord.Move move = lmr.move();
        return lmr.shares().stream().anyMatch(share -> share.node() != self.id())
                || (move != null && move.shares().stream().anyMatch(share -> share.node() != self.id()));
    }

    private GrowingNumber givenUp(int creator) {
        return new GrowingNumber(directory, "given-up/" + creator, 0);
    }

    /** The other nodes that may have an anonymous LMR mapped. */
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
