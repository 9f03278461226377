package dev.lite.api;

/**
 * A live node of the cluster.
 *
 * @param name its stable name
 * @param id its number; small, and the same after a restart
 * @param incarnation grows by at least one each time the node joins
 * @param arenaBytes the size of the memory it contributes
 * @param fabric what carries data from this session's node to it: {@code local}, {@code shm}, {@code tcp}, {@code rdma},
 *     or {@code none} while there is no connection
 */
public record NodeInfo(String name, int id, long incarnation, long arenaBytes, String fabric) {}
