package dev.lite.tier;

import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * The session of one application at this node. Every call has the rights of its principal. Any thread. Closing the
 * session unmaps every handle and frees the LMRs with the lifetime of the session.
 */
public interface TierSession extends AutoCloseable {

    /** The principal of the session. */
    String principal();

    /** The node's name. */
    String nodeName();

    /** See {@link dev.lite.api.Lite#nodes}. */
    List<NodeInfo> nodes();

    /** The number of its handles. */
    int handles();

    /** The calls and messages of the session. */
    TierRpc rpc();

    /** See {@link dev.lite.api.LtMemory#malloc(LmrSpec, Duration)}. */
    TierHandle malloc(LmrSpec spec, Duration deadline);

    /** See {@link dev.lite.api.LtMemory#createOrMap(LmrSpec, Set, Duration)}. */
    TierHandle createOrMap(LmrSpec spec, Set<Permission> permissions, Duration deadline);

    /** See {@link dev.lite.api.LtMemory#map(String, Set, Duration)}. */
    TierHandle map(String name, Set<Permission> permissions, Duration deadline);

    /** Locks and barriers. */
    TierSync sync();

    /** See {@link dev.lite.api.LtMemory#map(long, Set, Duration)}. */
    TierHandle map(long id, Set<Permission> permissions, Duration deadline);

    /**
     * The first half of {@link dev.lite.api.LtMemory#register}: {@link #malloc} of an LMR. Nobody else can map it
     * before {@link #publish}.
     */
    TierHandle prepare(LmrSpec spec, Duration deadline);

    /**
     * The second half. If it fails, it frees the LMR and ends the handle.
     *
     * @param handle from {@link #prepare} of this session, once
     */
    void publish(TierHandle handle, Duration deadline);

    /**
     * See {@link dev.lite.api.LtMemory#memcpy} and {@link dev.lite.api.LtMemory#memmove}.
     *
     * @param source a handle of this session, like {@code target}
     * @param overlapAllowed whether the ranges may overlap (memmove); if false, an overlap is an error (memcpy)
     */
    void copy(
            TierHandle source,
            long sourceOffset,
            TierHandle target,
            long targetOffset,
            long length,
            boolean overlapAllowed,
            Duration deadline);

    /** See {@link dev.lite.api.LtMemory#fence}. */
    void fence(Duration deadline);

    @Override
    void close();
}
