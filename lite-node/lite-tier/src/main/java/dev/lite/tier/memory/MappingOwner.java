package dev.lite.tier.memory;

import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteMemory;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Mapping} needs of its node beyond its own data, for atomic operations and transfers. A session of an application,
 * which can do more, is a {@link HandleOwner}. Any thread.
 */
public interface MappingOwner {
    /** The LMR's memory on nodes that are not mapped. */
    RemoteMemory remoteMemory();

    /** How long an operation may wait. */
    Duration deadline();

    /** The name of a node, for messages and {@link dev.lite.api.LmrHandle#extents}. */
    String nodeName(int node);

    /** Takes the handle out of the books; it has lost its rights and nobody is in it. Called once for each. */
    void unmapped(Mapping mapping);

    /** The permission bits that the owner has on the LMR, by its record. */
    int allowed(LmrRecord lmr);

    /** Reads the LMR's record again and makes its handles follow it; does nothing when it cannot be read. */
    void refresh(@Nullable String name, long lmrId, Deadline deadline);

    /** How often the owner lost locks that it held because its node was fenced; only grows. */
    default int locksLost() {
        return 0;
    }

    /** The LMR lies elsewhere now, and operations continue there. Must not block. */
    default void moved(long lmrId) {}
}
