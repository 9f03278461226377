package dev.lite.manager;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The manager.
 *
 * @param name What it is called in the election of the leader. Default: the host's name and the process's number.
 * @param startDeadline How long it waits at start for ZooKeeper.
 * @param zookeeper Embedded ZooKeeper, for a cluster on one machine.
 */
@ConfigurationProperties("lite.manager")
record ManagerProperties(
        @Nullable String name,
        @DefaultValue("15s") Duration startDeadline,
        @DefaultValue ZooKeeper zookeeper) {

    /**
     * The embedded ZooKeeper.
     *
     * @param embedded Whether the manager runs a ZooKeeper itself.
     * @param address Address it listens on; anything but loopback opens the cluster's directory to the network.
     * @param port Port it listens on; 0 takes any free one, which the log and the ready file name.
     * @param dataDirectory Where its log and snapshots are kept; needed when it is enabled.
     * @param startTimeout How long it may take to start.
     */
    record ZooKeeper(
            @DefaultValue("false") boolean embedded,
            @DefaultValue("127.0.0.1") String address,
            @DefaultValue("2181") int port,
            @Nullable Path dataDirectory,
            @DefaultValue("15s") Duration startTimeout) {}
}
