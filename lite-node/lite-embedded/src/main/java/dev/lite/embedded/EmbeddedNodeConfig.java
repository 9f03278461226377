package dev.lite.embedded;

import dev.lite.tier.peer.FabricSelection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of an embedded node. Immutable. Start with {@link #builder}.
 *
 * @param cluster the cluster's name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}
 * @param name the node's name, with the same rules; unique in the cluster
 * @param zookeeper {@code host:port[,host:port…]} of the cluster's ZooKeeper, or null for a cluster of this node alone
 * @param arenaDirectory the parent directory of all arenas, on a memory file system
 * @param arenaBytes the memory that the node contributes, in bytes; its contents are lost when the node is closed
 * @param deadline the timeout of operations that do not set their own
 * @param fabric the fabric to other nodes: {@code auto} uses all drivers on the class path that work on this host, and prefers shm
 *     (same host only), then rdma, then tcp; {@code shm}, {@code rdma} or {@code tcp} uses only that one
 * @param require a fabric that must work, or the node does not start; fabrics that are less preferred are not used. Null for none
 * @param secret the shared secret of all nodes and managers of the cluster, for rdma and tcp, and for signing records in ZooKeeper; or
 *     null. Rdma and tcp require one, and so does a cluster whose processes have {@code lite.cluster.secret-file}
 * @param user the ZooKeeper user, which is the same for every process of the cluster; null for none
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
        @Nullable User user) {
    private static final long ARENA_BYTES_DEFAULT = 64 << 20;
    private static final Duration DEADLINE_DEFAULT = Duration.ofSeconds(10);

    /** Numbers the clusters of one node that this process starts. */
    private static final AtomicLong CLUSTERS = new AtomicLong();

    /**
     * A user of ZooKeeper's scheme {@code digest}.
     *
     * @param name one or more characters without a colon
     * @param password one or more characters; never part of a message
     */
    public record User(String name, String password) {
        /** Without the password. */
        @Override
        public String toString() {
            return "User[name=%s, password=given]".formatted(name);
        }
    }

    /**
     * A builder with the defaults: a cluster of one node, with 64 MiB in {@code /dev/shm/lite}. The cluster's name is by default
     * different for every configuration, so nodes in one JVM do not meet. With a ZooKeeper there is no default.
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Builds the configuration of an embedded node. One thread. */
    public static final class Builder {
        private @Nullable String cluster;
        private String name = "embedded";
        private @Nullable String zookeeper;
        private Path arenaDirectory = Path.of("/dev/shm/lite");
        private long arenaBytes = ARENA_BYTES_DEFAULT;
        private Duration deadline = DEADLINE_DEFAULT;
        private String fabric = FabricSelection.AUTO;
        private @Nullable String require;
        private @Nullable String secret;
        private @Nullable User user;

        private Builder() {}

        /** The cluster's name. A cluster with a ZooKeeper needs one. */
        public Builder cluster(String newCluster) {
            cluster = newCluster;
            return this;
        }

        /** The node's name, unique in the cluster. */
        public Builder name(String newName) {
            name = newName;
            return this;
        }

        /** {@code host:port[,host:port…]} of the cluster's ZooKeeper; null for a cluster of this node alone. */
        public Builder zookeeper(@Nullable String newZookeeper) {
            zookeeper = newZookeeper;
            return this;
        }

        /** The parent directory of all arenas, on a memory file system. */
        public Builder arenaDirectory(Path newDirectory) {
            arenaDirectory = newDirectory;
            return this;
        }

        /** The memory that the node contributes, in bytes. */
        public Builder arenaBytes(long bytes) {
            arenaBytes = bytes;
            return this;
        }

        /** The timeout of operations that do not set their own. */
        public Builder deadline(Duration newDeadline) {
            deadline = newDeadline;
            return this;
        }

        /** The fabric to other nodes, or {@code auto}. */
        public Builder fabric(String newFabric) {
            fabric = newFabric;
            return this;
        }

        /** A fabric that must work, or the node does not start; less preferred ones are not used. Null for none. */
        public Builder require(@Nullable String newRequire) {
            require = newRequire;
            return this;
        }

        /**
         * The shared secret of the cluster, which rdma and tcp need, and with which records in ZooKeeper are signed. Null: a node
         * without a ZooKeeper makes its own, and others use shared memory only, in a cluster that does not sign.
         */
        public Builder secret(@Nullable String newSecret) {
            secret = newSecret;
            return this;
        }

        /** The ZooKeeper user, the same for every process of the cluster; null for none. */
        public Builder user(@Nullable User newUser) {
            user = newUser;
            return this;
        }

        /**
         * Builds the configuration.
         *
         * @throws IllegalArgumentException if there is a ZooKeeper, but no name of its cluster
         */
        public EmbeddedNodeConfig build() {
            return new EmbeddedNodeConfig(
                    cluster == null ? defaultCluster() : cluster,
                    name,
                    zookeeper,
                    arenaDirectory,
                    arenaBytes,
                    deadline,
                    fabric,
                    require,
                    secret,
                    user);
        }

        private String defaultCluster() {
            if (zookeeper != null) { // a process in another container may have the same number
                throw new IllegalArgumentException(
                        "the ZooKeeper is %s, and the cluster has no name; set lite.embedded.cluster (or the builder's cluster), since all nodes with one name at this ZooKeeper are one cluster"
                                .formatted(zookeeper));
            }
            return "embedded-%d-%d".formatted(ProcessHandle.current().pid(), CLUSTERS.incrementAndGet());
        }
    }

    /** Omits the values of the secret and the password. */
    @Override
    public String toString() {
        return "EmbeddedNodeConfig[cluster=%s, name=%s, zookeeper=%s, arenaDirectory=%s, arenaBytes=%d, fabric=%s, require=%s, secret=%s, user=%s]"
                .formatted(
                        cluster,
                        name,
                        zookeeper,
                        arenaDirectory,
                        arenaBytes,
                        fabric,
                        require,
                        secret == null ? "none" : "given",
                        user);
    }
}
