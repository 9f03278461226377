package dev.lite.api;

/**
 * A live node of the cluster.
 *
 * @param name the node's name; the same after a restart
 * @param id the node's number; small, and the same after a restart
 * @param incarnation grows each time the node joins the cluster
 * @param arenaBytes the memory that the node contributes, in bytes
 * @param fabric what carries data between this session's node and that node: {@code local}, {@code shm}, {@code tcp},
 *     {@code rdma}, or {@code none} while they are not connected
 */
public record NodeInfo(String name, int id, long incarnation, long arenaBytes, String fabric) {
    /**
     * Checks the name of a node.
     *
     * @throws IllegalArgumentException when it is not 1 to 63 of the characters {@code a-z A-Z 0-9 . _ -}, or is {@code .} or {@code ..}
     */
    public static void checkName(String node) {
        Names.requireNode("node", node);
    }
}
