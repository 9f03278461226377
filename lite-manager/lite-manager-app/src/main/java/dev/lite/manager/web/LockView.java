package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * A lock's record in the directory. Only the lock's home knows its holder and waiters.
 *
 * @param name its name
 * @param id the cluster-wide id of its lock word, as text
 * @param node the name of its home, the node that keeps its word and its queue; absent when the home is not registered
 * @param nodeId its home's id
 */
record LockView(
        String name,
        String id,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable String node,
        int nodeId) {}
