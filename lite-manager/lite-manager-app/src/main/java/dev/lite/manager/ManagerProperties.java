package dev.lite.manager;

import dev.lite.cluster.process.PropertyChecks;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The manager.
 *
 * @param name Name of this manager in the leader election. Default: the host name and the process id.
 * @param startDeadline How long to wait for ZooKeeper at start.
 * @param zookeeper Embedded ZooKeeper, for a cluster on one machine.
 */
@ConfigurationProperties("lite.manager")
record ManagerProperties(
        @Nullable String name,
        @DefaultValue("15s") Duration startDeadline,
        @DefaultValue ZooKeeper zookeeper) {
    private static final int PORT_MAX = 65_535;

    ManagerProperties {
        PropertyChecks.deadline("lite.manager.start-deadline", startDeadline);
    }

    /**
     * The embedded ZooKeeper.
     *
     * @param embedded Whether the manager runs a ZooKeeper server in its own process.
     * @param address Address that the embedded ZooKeeper listens on; any address but loopback opens the cluster's directory to the network.
     * @param port Port that the embedded ZooKeeper listens on; 0 selects a free port, which the log and the ready file show.
     * @param dataDirectory Directory for the log and the snapshots of the embedded ZooKeeper; required with it.
     * @param startTimeout How long the embedded ZooKeeper may take to start.
     */
    record ZooKeeper(
            @DefaultValue("false") boolean embedded,
            @DefaultValue("127.0.0.1") String address,
            @DefaultValue("2181") int port,
            @Nullable Path dataDirectory,
            @DefaultValue("15s") Duration startTimeout) {
        ZooKeeper {
            PropertyChecks.range("lite.manager.zookeeper.port", port, 0, PORT_MAX);
            PropertyChecks.deadline("lite.manager.zookeeper.start-timeout", startTimeout);
            if (address.isBlank()) {
                throw new IllegalArgumentException(
                        "lite.manager.zookeeper.address is \"%s\"; it must be an address of this host"
                                .formatted(address));
            }
        }
    }
}
