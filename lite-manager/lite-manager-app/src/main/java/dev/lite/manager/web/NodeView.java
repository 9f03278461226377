package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.lite.cluster.NodeRecord;
import dev.lite.manager.nodes.NodeState;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A registered node.
 *
 * @param name its stable name
 * @param id its id
 * @param incarnation grows with each registration
 * @param host the host it runs on
 * @param arenaBytes the size of its arena
 * @param fabrics driver name → address
 * @param draining whether it is drained or marked for draining: nothing new is placed there
 * @param state if requested: its memory, sessions, links and counts, as the node itself reports them
 * @param problem if requested: why there is no state
 */
record NodeView(
        String name,
        int id,
        long incarnation,
        String host,
        long arenaBytes,
        Map<String, String> fabrics,
        boolean draining,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable Map<String, Object> state,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable String problem) {

    /** @param draining the names of the nodes that are drained or marked for draining */
    static NodeView of(NodeRecord node, Set<String> draining) {
        return new NodeView(
                node.name(),
                node.id(),
                node.incarnation(),
                node.host(),
                node.arenaBytes(),
                node.fabrics(),
                draining.contains(node.name()),
                null,
                null);
    }

    /** With what the node itself reports. */
    NodeView with(NodeState reported) {
        return new NodeView(
                name, id, incarnation, host, arenaBytes, fabrics, draining, reported.state(), reported.problem());
    }
}
