package dev.lite.tier;

import dev.lite.cluster.LmrRecord.Run;
import dev.lite.os.waiting.Deadline;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Work on memory that is done by the node that holds it (paper §7.1): the bytes do not pass through the caller. Any thread.
 *
 * <p>A future completes exactly once, and not before the working node can touch the memory no more: with null when the work is
 * done, or with a {@link dev.lite.api.LiteException}. So it may complete after its caller's deadline, and a caller that gives the
 * memory to somebody else waits for it.
 */
public interface RemoteWork {
    /** How many runs a memset may name. */
    int RUNS_MAX = 64;

    /** How many bytes one piece of work may have, so that a node is not busy with it for long. */
    long BYTES_MAX = 16 << 20;

    /**
     * Sets bytes on a node.
     *
     * @param runs parts of extents of this LMR in the node's arena, at most {@link #RUNS_MAX}; the node checks that they are
     */
    CompletableFuture<@Nullable Void> memset(
            int node, UUID arena, long lmrId, List<Run> runs, byte value, Deadline deadline);

    /**
     * Copies bytes of a node, to itself or to another one. Ranges on one node may overlap.
     *
     * @param source its node does the work; a part of an extent of its LMR, which the node checks
     * @param target a part of an extent of its LMR; checked when it lies on the source's node, too
     */
    CompletableFuture<@Nullable Void> copy(Part source, Part target, long length, Deadline deadline);

    /**
     * Where a range of an LMR begins.
     *
     * @param arena of that node
     * @param offset from the start of the arena, bytes
     * @param entry of the arena's extent table
     */
    record Part(int node, UUID arena, long lmrId, long offset, int entry) {}
}
