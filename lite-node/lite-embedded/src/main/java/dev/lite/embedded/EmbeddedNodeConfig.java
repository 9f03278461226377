package dev.lite.embedded;

import dev.lite.cluster.CuratorConfig;
import dev.lite.tier.peer.FabricSelection;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of an embedded node. Made by {@link #builder}.
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
    public static Builder builder() {
        return new Builder();
    }

    /** Builds the configuration of an embedded node. One thread. */
    public static final class Builder {
        private String cluster = "embedded-" + ProcessHandle.current().pid();
        private String name = "embedded";
        private @Nullable String zookeeper;
        private Path arenaDirectory = Path.of("/dev/shm/lite");
        private long arenaBytes = ARENA_BYTES_DEFAULT;
        private Duration deadline = DEADLINE_DEFAULT;
        private String fabric = FabricSelection.AUTO;
        private @Nullable String require;
        private @Nullable String secret;
        private CuratorConfig.@Nullable Credentials credentials;

        private Builder() {}

        /** The cluster's name. */
        public Builder cluster(String newCluster) {
            cluster = newCluster;
            return this;
        }

        /** The node's name, unique in the cluster. */
        public Builder name(String newName) {
            name = newName;
            return this;
        }

        /** {@code host:port[,host:port…]} of the cluster to join; null: a cluster of one. */
        public Builder zookeeper(@Nullable String newZookeeper) {
            zookeeper = newZookeeper;
            return this;
        }

        /** The directory of all arenas, on a memory file system. */
        public Builder arenaDirectory(Path newDirectory) {
            arenaDirectory = newDirectory;
            return this;
        }

        /** The memory that the node contributes. */
        public Builder arenaBytes(long bytes) {
            arenaBytes = bytes;
            return this;
        }

        /** How long an operation may wait when its call says nothing. */
        public Builder deadline(Duration newDeadline) {
            deadline = newDeadline;
            return this;
        }

        /** The fabric to other nodes, or {@code auto}. */
        public Builder fabric(String newFabric) {
            fabric = newFabric;
            return this;
        }

        /** The fabric without which the node does not start, nor with a less preferred one in its place; null: none. */
        public Builder require(@Nullable String newRequire) {
            require = newRequire;
            return this;
        }

        /** The secret of the cluster, for rdma and tcp; null: none. */
        public Builder secret(@Nullable String newSecret) {
            secret = newSecret;
            return this;
        }

        /** The user of ZooKeeper, the same for every process of the cluster; null: none. */
        public Builder credentials(CuratorConfig.@Nullable Credentials newCredentials) {
            credentials = newCredentials;
            return this;
        }

        /** The configuration. */
        public EmbeddedNodeConfig build() {
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
                    credentials);
        }
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
