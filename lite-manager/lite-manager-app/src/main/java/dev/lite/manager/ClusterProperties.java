package dev.lite.manager;

import dev.lite.cluster.CuratorConfig;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The cluster and its directory.
 *
 * @param name Name of the cluster; clusters of different names on one ZooKeeper do not see each other.
 * @param zookeeper ZooKeeper that holds the cluster's directory, as host:port[,host:port...]. Not given when the manager's
 *     embedded one is enabled.
 * @param sessionTimeout How long a process may be silent until the cluster takes it for gone.
 * @param connectionTimeout How long one attempt to connect to ZooKeeper may take.
 */
@ConfigurationProperties("lite.cluster")
record ClusterProperties(
        @DefaultValue("lite") String name,
        @Nullable String zookeeper,
        @DefaultValue("6s") Duration sessionTimeout,
        @DefaultValue("5s") Duration connectionTimeout) {

    CuratorConfig toConfig(String connectString) {
        return new CuratorConfig(connectString, name, sessionTimeout, connectionTimeout);
    }
}
