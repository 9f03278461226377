package dev.lite.manager.web;

import dev.lite.cluster.NodeRecord;
import java.util.Map;

/**
 * A registered node.
 *
 * @param name its stable name
 * @param id its number
 * @param incarnation grows each time it registers
 * @param host the host it runs on
 * @param arenaBytes the memory it contributes
 * @param fabrics driver name → address
 */
record NodeView(String name, int id, long incarnation, String host, long arenaBytes, Map<String, String> fabrics) {

    static NodeView of(NodeRecord node) {
        return new NodeView(node.name(), node.id(), node.incarnation(), node.host(), node.arenaBytes(), node.fabrics());
    }
}
