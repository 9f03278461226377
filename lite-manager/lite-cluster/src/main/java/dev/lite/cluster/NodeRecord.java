package dev.lite.cluster;

import java.util.Map;

/**
 * A registered node.
 *
 * @param name its stable name
 * @param id its number: 0 up to {@link ClusterDirectory#NODE_ID_MAX}, kept for the name for ever
 * @param incarnation grows each time a node of this name registers
 * @param host see {@link NodeAdvert#host}
 * @param arenaBytes the size of the memory it contributes
 * @param fabrics driver name → address
 * @param process see {@link NodeAdvert#process}
 */
public record NodeRecord(
        String name,
        int id,
        long incarnation,
        String host,
        long arenaBytes,
        Map<String, String> fabrics,
        long process) {
    /** Copies. */
    public NodeRecord {
        fabrics = Map.copyOf(fabrics);
    }

    /** Of a node that does not say which process it is. */
    public NodeRecord(
            String name, int id, long incarnation, String host, long arenaBytes, Map<String, String> fabrics) {
        this(name, id, incarnation, host, arenaBytes, fabrics, NodeAdvert.NO_PROCESS);
    }
}
