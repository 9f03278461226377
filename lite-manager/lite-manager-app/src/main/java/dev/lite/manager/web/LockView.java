package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * A lock, as the directory knows it. Who holds it and who waits is known at its home alone.
 *
 * @param name its name
 * @param id the cluster-wide number of its word, as text
 * @param node the name of its home, the node that keeps its word and its queue; absent when that is not registered
 * @param nodeId its home's number
 */
record LockView(
        String name,
        String id,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable String node,
        int nodeId) {}
