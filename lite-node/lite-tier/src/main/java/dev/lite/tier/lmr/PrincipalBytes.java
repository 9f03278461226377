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
 * How much of this node's arena each principal has, and the limit of that. The extents of an LMR count for the principal that
 * made it, whichever node it was made at, from their allocation here until they are free again: by {@code free}, by the end
 * of the session, or by a move to another node.
 *
 * <p>Where no limit is configured nothing is counted, and nothing kept. The counts live as long as the process; after a
 * restart with an adopted arena those of LMRs with a name come back with their records ({@link #adopt}).
 *
 * <p>Any thread. Memory: an entry for every LMR with extents here, so it is bounded by the arena's extents.
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
     * For whom memory is taken.
     *
     * @param principal empty for the tier's own, which is not counted
     * @param limited whether it is refused over the limit; what an operator moves is not
     */
    public record Charge(String principal, boolean limited) {
        /** Of what belongs to no principal. */
        static final Charge NOBODY = new Charge("", false);
    }

    /** What an LMR has here. */
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
     * {@link ArenaAllocator#allocate} for somebody.
     *
     * @throws LimitExceededException also when the principal has too much then; nothing is taken in that case
     */
    List<ExtentRun> allocate(long lmrId, Charge charge, long chunkBytes, long count, int runsMax) {
        if (!isCounted(charge.principal())) {
            return allocator.allocate(lmrId, chunkBytes, count, runsMax);
        }
        long asked = ArenaAllocator.bytesOfChunk(chunkBytes) * count;
        take(lmrId, charge, asked); // first: two at once must not both find room
        long taken = 0;
        try {
            List<ExtentRun> runs = allocator.allocate(lmrId, chunkBytes, count, runsMax);
            taken = runs.stream().mapToLong(ExtentRun::length).sum();
            return runs;
        } finally {
            give(lmrId, asked - taken);
        }
    }

    /** {@link ArenaAllocator#free}, which ends its count, too. */
    boolean free(long lmrId, ExtentRun run) {
        if (bytesMax == Long.MAX_VALUE) {
            return allocator.free(lmrId, run);
        }
        synchronized (this) { // both in one step, for adopt()
            boolean freed = allocator.free(lmrId, run);
            if (freed) {
                give(lmrId, run.length());
            }
            return freed;
        }
    }

    /**
     * Counts what an LMR has here since before this process, unless it is counted already.
     *
     * @param runs of its record; those that it does not have any more are passed over
     */
    public void adopt(LmrRecord lmr, Collection<Run> runs) {
        if (!isCounted(lmr.owner())) {
            return;
        }
        synchronized (this) {
            if (!byLmr.containsKey(lmr.id())) {
                long held = runs.stream()
                        .filter(run -> allocator.holds(lmr.id(), run.entry(), run.offset(), run.length()))
                        .mapToLong(Run::length)
                        .sum();
                add(lmr.id(), lmr.owner(), held);
            }
        }
    }

    /** The bytes that a principal has here; 0 where nothing is counted. */
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
                    "principal \"%s\" has %d bytes at node %s; %d more are asked for, the limit is %d (lite.node.limits.bytes-per-principal)"
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
        // Less when some of it was allocated before this process and is not adopted.
        long less = Math.min(bytes, held.bytes());
        byLmr.computeIfPresent(
                lmrId, (id, had) -> had.bytes() == less ? null : new Held(had.principal(), had.bytes() - less));
        byPrincipal.computeIfPresent(held.principal(), (name, had) -> had == less ? null : Long.valueOf(had - less));
    }
}
