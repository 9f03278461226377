package dev.lite.embedded;

import dev.lite.cluster.CuratorConfig;
import dev.lite.tier.peer.FabricSelection;
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
 * @param fabric what carries data to other nodes, of the drivers on the class path: {@code auto} (shm on the same host, else rdma,
 *     else tcp, of those that work here), or {@code shm}, {@code rdma} or {@code tcp} alone
 * @param require the fabric without which it does not start, and in whose place it uses none that is less preferred; or null
 * @param secret what all nodes of the cluster know, for rdma and tcp, or null; rdma asks for one
 * @param credentials who it is for ZooKeeper, the same as every process of the cluster; or null
 */
public record EmbeddedNodeConfig(
        String cluster,
        String name,
        @Nullable String zookeeper,
        Path arenaDirectory,
        long arenaBytes,
        Duration deadline,
        String fabric,
        @Nullable String require,
        @Nullable String secret,
        CuratorConfig.@Nullable Credentials credentials) {
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
                DEADLINE_DEFAULT,
                FabricSelection.AUTO,
                null,
                null,
                null);
    }

    /** With so much memory. */
    public EmbeddedNodeConfig withArenaBytes(long bytes) {
        return new EmbeddedNodeConfig(
                cluster, name, zookeeper, arenaDirectory, bytes, deadline, fabric, require, secret, credentials);
    }

    /** As a node of this name of that cluster. */
    public EmbeddedNodeConfig joining(String zookeeperOfCluster, String newCluster, String newName) {
        return new EmbeddedNodeConfig(
                newCluster,
                newName,
                zookeeperOfCluster,
                arenaDirectory,
                arenaBytes,
                deadline,
                fabric,
                require,
                secret,
                credentials);
    }

    /** Over this fabric, or {@code auto}; with the cluster's secret, or null. */
    public EmbeddedNodeConfig withFabric(String newFabric, @Nullable String newSecret) {
        return new EmbeddedNodeConfig(
                cluster,
                name,
                zookeeper,
                arenaDirectory,
                arenaBytes,
                deadline,
                newFabric,
                require,
                newSecret,
                credentials);
    }

    /** Not without this fabric, nor with a less preferred one in its place; null: with what there is. */
    public EmbeddedNodeConfig requiring(@Nullable String newRequire) {
        return new EmbeddedNodeConfig(
                cluster,
                name,
                zookeeper,
                arenaDirectory,
                arenaBytes,
                deadline,
                fabric,
                newRequire,
                secret,
                credentials);
    }

    /** As this user of ZooKeeper; null: as nobody. */
    public EmbeddedNodeConfig withCredentials(CuratorConfig.@Nullable Credentials newCredentials) {
        return new EmbeddedNodeConfig(
                cluster,
                name,
                zookeeper,
                arenaDirectory,
                arenaBytes,
                deadline,
                fabric,
                require,
                secret,
                newCredentials);
    }

    /** Without the values of the secret and the password. */
    @Override
    public String toString() {
        return "EmbeddedNodeConfig[cluster=%s, name=%s, zookeeper=%s, arenaDirectory=%s, arenaBytes=%d, fabric=%s, require=%s, secret=%s, credentials=%s]"
                .formatted(
                        cluster,
                        name,
                        zookeeper,
                        arenaDirectory,
                        arenaBytes,
                        fabric,
                        require,
                        secret == null ? "none" : "given",
                        credentials);
    }
}
