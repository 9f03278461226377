package dev.lite.tier;

import dev.lite.cluster.LmrRecord.Run;
import dev.lite.os.waiting.Deadline;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Work on memory by the node that holds it (paper §7.1): the bytes do not pass through the caller. Any thread.
 *
 * <p>A future completes exactly once: with null when the work is done, or with a {@link dev.lite.api.LiteException}. It
 * completes only when the working node can no longer touch the memory. So it may complete after its caller's deadline,
 * and a caller must wait for it before it reuses the memory.
 */
public interface RemoteWork {
    /** The maximum number of runs of a memset. */
    int RUNS_MAX = 64;

    /** The maximum bytes of one piece of work, so that it does not occupy a node for long. */
    long BYTES_MAX = 16 << 20;

    /**
     * Sets bytes on a node.
     *
     * @param runs parts of this LMR's extents in the node's arena, at most {@link #RUNS_MAX}; the node checks them
     */
    CompletableFuture<@Nullable Void> memset(
            int node, UUID arena, long lmrId, List<Run> runs, byte value, Deadline deadline);

    /**
     * Copies bytes of a node to itself or to another node. Ranges on one node may overlap.
     *
     * @param source a part of an extent of its LMR; its node does the work and checks the part
     * @param target a part of an extent of its LMR; checked only if it lies on the source's node
     */
    CompletableFuture<@Nullable Void> copy(Part source, Part target, long length, Deadline deadline);

    /**
     * The start of a range of an LMR.
     *
     * @param arena of that node
     * @param offset from the start of the arena, bytes
     * @param entry of the arena's extent table
     */
    record Part(int node, UUID arena, long lmrId, long offset, int entry) {}
}
