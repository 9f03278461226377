package dev.lite.manager.web;

import dev.lite.cluster.NodeRecord;
import java.util.Map;
import java.util.Set;

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
 */
record NodeView(
        String name,
        int id,
        long incarnation,
        String host,
        long arenaBytes,
        Map<String, String> fabrics,
        boolean draining) {

    /** @param draining the names of the nodes that are drained or marked for draining */
    static NodeView of(NodeRecord node, Set<String> draining) {
        return new NodeView(
                node.name(),
                node.id(),
                node.incarnation(),
                node.host(),
                node.arenaBytes(),
                node.fabrics(),
                draining.contains(node.name()));
    }
}
