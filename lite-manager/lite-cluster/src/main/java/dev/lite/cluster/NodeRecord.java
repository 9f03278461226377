package dev.lite.cluster;

import java.util.Map;
import java.util.Objects;

/**
 * A registered node.
 *
 * @param name its stable name
 * @param id its id: 0 to {@link ClusterDirectory#NODE_ID_MAX}, reserved for the name forever
 * @param incarnation grows each time a node of this name registers
 * @param host see {@link NodeAdvert#host}
 * @param arenaBytes the size of its arena in bytes
 * @param fabrics driver name → address
 * @param process see {@link NodeAdvert#process}
 * @param key see {@link NodeAdvert#key}
 * @param arenaVolatile see {@link NodeAdvert#arenaVolatile}
 */
public record NodeRecord(
        String name,
        int id,
        long incarnation,
        String host,
        long arenaBytes,
        Map<String, String> fabrics,
        long process,
        String key,
        boolean arenaVolatile) {
    /** Makes defensive copies. A registration of an older version has no key, and its arena counts as one that outlives a crash. */
    public NodeRecord {
        fabrics = Map.copyOf(fabrics);
        key = Objects.requireNonNullElse(key, "");
    }

    /** Without a key, and with an arena that outlives a crash. */
    public NodeRecord(
            String name,
            int id,
            long incarnation,
            String host,
            long arenaBytes,
            Map<String, String> fabrics,
            long process) {
        this(name, id, incarnation, host, arenaBytes, fabrics, process, "", false);
    }

    /** Leaves {@code process} unknown. */
    public NodeRecord(
            String name, int id, long incarnation, String host, long arenaBytes, Map<String, String> fabrics) {
        this(name, id, incarnation, host, arenaBytes, fabrics, NodeAdvert.NO_PROCESS);
    }
}
