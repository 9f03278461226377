package dev.lite.tier.memory;

import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.Admission;
import dev.lite.tier.RemoteMemory;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The services of its node that a {@link Mapping} needs for atomic operations and transfers. A {@link HandleOwner}, the
 * session of an application, offers more. Any thread.
 */
public interface MappingOwner {
    /** Access to memory of nodes that is not mapped here. */
    RemoteMemory remoteMemory();

    /** {@link #remoteMemory()} for operations of this session's priority, or of low priority. */
    default RemoteMemory remoteMemory(boolean low) {
        return remoteMemory();
    }

    /** What operations must ask before they begin; null: nothing. */
    default @Nullable Admission admission(boolean low) {
        return null;
    }

    /** Whether operations on mapped memory must ask, too. After a change, {@link Mapping#gate} follows. */
    default boolean isGated() {
        return false;
    }

    /** Whether operations on mapped memory count as under way, in {@link dev.lite.os.InFlight#countedUnderWay}. Constant. */
    default boolean isCounted() {
        return false;
    }

    /** The default deadline of an operation. */
    Duration deadline();

    /** The name of a node, for messages and {@link dev.lite.api.LmrHandle#extents}. */
    String nodeName(int node);

    /** Removes a handle that has lost its rights and has no operation in flight. Called once for each handle. */
    void unmapped(Mapping mapping);

    /** The permission bits that the record gives the owner. */
    int allowed(LmrRecord lmr);

    /** Reads the LMR's record again and makes its handles follow it; does nothing if it cannot read the record. */
    void refresh(@Nullable String name, long lmrId, Deadline deadline);

    /** How often the owner lost its locks because its node was fenced; only grows. */
    default int locksLost() {
        return 0;
    }

    /** Called after the LMR moved; operations continue at the new place. Must not block. */
    default void moved(long lmrId) {}
}
