package dev.lite.tier;

import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * What one application may do at this node: every call is made as its principal. Any thread. Closing it unmaps every
 * handle and frees the LMRs whose lifetime is the session.
 */
public interface TierSession extends AutoCloseable {

    /** Who the calls are made as. */
    String principal();

    /** The node's name. */
    String nodeName();

    /** See {@link dev.lite.api.Lite#nodes}. */
    List<NodeInfo> nodes();

    /** Its calls and messages. */
    TierRpc rpc();

    /** See {@link dev.lite.api.LtMemory#malloc(LmrSpec, Duration)}. */
    TierHandle malloc(LmrSpec spec, Duration deadline);

    /** See {@link dev.lite.api.LtMemory#map(String, Set, Duration)}. */
    TierHandle map(String name, Set<Permission> permissions, Duration deadline);

    /** Locks and barriers. */
    TierSync sync();

    @Override
    void close();
}
