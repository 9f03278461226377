package dev.lite.embedded;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What an embedded node is. Start with {@link #alone}; every {@code with} method returns a changed copy.
 *
 * @param cluster the cluster's name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}
 * @param name the node's name, likewise; unique in the cluster
 * @param zookeeper {@code host:port[,host:port…]} of the cluster to join, or null to be a cluster of one
 * @param arenaDirectory the directory of all arenas, on a memory file system
 * @param arenaBytes the memory it contributes; it is gone when the node is closed
 * @param deadline how long an operation may wait when its call says nothing
 */
public record EmbeddedNodeConfig(
        String cluster,
        String name,
        @Nullable String zookeeper,
        Path arenaDirectory,
        long arenaBytes,
        Duration deadline) {
    private static final long ARENA_BYTES_DEFAULT = 64 << 20;
    private static final Duration DEADLINE_DEFAULT = Duration.ofSeconds(10);

    /** A cluster of one, named after this process, with 64 MiB in {@code /dev/shm/lite}. */
    public static EmbeddedNodeConfig alone() {
        return new EmbeddedNodeConfig(
                "embedded-" + ProcessHandle.current().pid(),
                "embedded",
                null,
                Path.of("/dev/shm/lite"),
                ARENA_BYTES_DEFAULT,
                DEADLINE_DEFAULT);
    }

    /** With so much memory. */
    public EmbeddedNodeConfig withArenaBytes(long bytes) {
        return new EmbeddedNodeConfig(cluster, name, zookeeper, arenaDirectory, bytes, deadline);
    }

    /** As a node of this name of that cluster. */
    public EmbeddedNodeConfig joining(String zookeeperOfCluster, String newCluster, String newName) {
        return new EmbeddedNodeConfig(newCluster, newName, zookeeperOfCluster, arenaDirectory, arenaBytes, deadline);
    }
}
