package dev.lite.tier.lmr;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ExtentRun;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts and limits the bytes of each principal in this node's arena. The extents of an LMR are charged to the
 * principal that created it, at whichever node. The charge lasts from the allocation here until the extents are free
 * again: by {@code free}, by the end of the session, or by a move to another node.
 *
 * <p>Without a configured limit this class counts and keeps nothing. The counts live as long as the process. After a
 * restart with an adopted arena, {@link #adopt} restores the counts of named LMRs from their records.
 *
 * <p>Any thread. Memory: an entry for every LMR with extents here, so the arena's extents bound it.
 */
public final class PrincipalBytes {
    private final String node;
    private final ArenaAllocator allocator;
    private final long bytesMax;

    @GuardedBy("this")
    private final Map<String, Long> byPrincipal = new HashMap<>();

    @GuardedBy("this")
    private final Map<Long, Held> byLmr = new HashMap<>();

    /**
     * The principal that memory is charged to.
     *
     * @param principal empty for internal memory of the tier, which is not counted
     * @param limited whether the limit applies; false for a move by an operator
     */
    public record Charge(String principal, boolean limited) {
        /** The charge of memory that belongs to no principal. */
        static final Charge NOBODY = new Charge("", false);

        /** Whether the memory is internal memory of the tier. */
        boolean isOfTier() {
            return principal.isEmpty();
        }
    }

    /** The bytes of an LMR here. */
    private record Held(String principal, long bytes) {}

    /**
     * @param node this node's name, for messages
     * @param bytesMax {@link Long#MAX_VALUE} for no limit
     */
    PrincipalBytes(String node, ArenaAllocator allocator, long bytesMax) {
        this.node = node;
        this.allocator = allocator;
        this.bytesMax = bytesMax;
    }

    /**
     * {@link ArenaAllocator#allocate} with a charge.
     *
     * @throws LimitExceededException also if the principal would exceed its limit; nothing is taken then
     */
    List<ExtentRun> allocate(long lmrId, Charge charge, long chunkBytes, long count, int runsMax) {
        if (!isCounted(charge.principal())) {
            return allocator.allocate(lmrId, chunkBytes, count, runsMax);
        }
        long asked = ArenaAllocator.bytesOfChunk(chunkBytes) * count;
        take(lmrId, charge, asked); // before the allocation: two callers must not both find the same room
        long taken = 0;
        try {
            List<ExtentRun> runs = allocator.allocate(lmrId, chunkBytes, count, runsMax);
            taken = runs.stream().mapToLong(ExtentRun::length).sum();
            return runs;
        } finally {
            give(lmrId, asked - taken);
        }
    }

    /** {@link ArenaAllocator#free}; also ends the charge. */
    boolean free(long lmrId, ExtentRun run) {
        if (bytesMax == Long.MAX_VALUE) {
            return allocator.free(lmrId, run);
        }
        synchronized (this) { // adopt() must see both or none
            boolean freed = allocator.free(lmrId, run);
            if (freed) {
                give(lmrId, run.length());
            }
            return freed;
        }
    }

    /**
     * Counts the bytes that an LMR has here from a former process, unless they are counted already.
     *
     * @param runs of its record, perhaps twice: one that stays in a move is in both lists of shares. Ignores
     *     runs that the LMR no longer has
     */
    public void adopt(LmrRecord lmr, Collection<Run> runs) {
        if (!isCounted(lmr.owner())) {
            return;
        }
        synchronized (this) {
            if (!byLmr.containsKey(lmr.id())) {
                long held = runs.stream()
                        .distinct()
                        .filter(run -> allocator.holds(lmr.id(), run.entry(), run.offset(), run.length()))
                        .mapToLong(Run::length)
                        .sum();
                add(lmr.id(), lmr.owner(), held);
            }
        }
    }

    /** The bytes of a principal here; 0 if there is no limit. */
    synchronized long of(String principal) {
        return byPrincipal.getOrDefault(principal, 0L);
    }

    private boolean isCounted(String principal) {
        return bytesMax != Long.MAX_VALUE && !principal.isEmpty();
    }

    private synchronized void take(long lmrId, Charge charge, long bytes) {
        long before = of(charge.principal());
        if (charge.limited() && bytes > bytesMax - before) {
            throw new LimitExceededException(
                    "principal \"%s\" has %d bytes at node %s; the request needs %d more, the limit is %d (lite.node.limits.bytes-per-principal)"
                            .formatted(charge.principal(), before, node, bytes, bytesMax));
        }
        add(lmrId, charge.principal(), bytes);
    }

    @GuardedBy("this")
    private void add(long lmrId, String principal, long bytes) {
        assert Thread.holdsLock(this);
        if (bytes > 0) {
            byLmr.merge(
                    lmrId, new Held(principal, bytes), (had, more) -> new Held(principal, had.bytes() + more.bytes()));
            byPrincipal.merge(principal, bytes, Long::sum);
        }
    }

    private synchronized void give(long lmrId, long bytes) {
        Held held = byLmr.get(lmrId);
        if (held == null || bytes == 0) {
            return;
        }
        // The count is smaller if a former process allocated some bytes and adopt() has not counted them.
        long less = Math.min(bytes, held.bytes());
        byLmr.computeIfPresent(
                lmrId, (id, had) -> had.bytes() == less ? null : new Held(had.principal(), had.bytes() - less));
        byPrincipal.computeIfPresent(held.principal(), (name, had) -> had == less ? null : Long.valueOf(had - less));
    }
}
