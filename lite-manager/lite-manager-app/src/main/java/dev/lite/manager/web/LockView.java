package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * A lock. The directory has its record; its home knows who waits, and every node which of its applications holds it.
 *
 * @param name its name
 * @param id the cluster-wide id of its lock word, as text
 * @param node the name of its home, the node that keeps its word and its queue; absent when the home is not registered
 * @param nodeId its home's id
 * @param taken if requested: whether an application holds it; absent if no node reports it held and some did not answer
 * @param holder if requested: the application that holds it
 * @param waiters if requested: how many wait, without those that still spin; absent if the home did not answer
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record LockView(
        String name,
        String id,
        @Nullable String node,
        int nodeId,
        @Nullable Boolean taken,
        @Nullable Holder holder,
        @Nullable Long waiters) {

    /**
     * The application that holds a lock.
     *
     * @param node the name of its node
     * @param application its name
     * @param principal its principal
     * @param session the id of its session at the node
     * @param pid its process id
     */
    record Holder(String node, String application, String principal, long session, long pid) {}
}
