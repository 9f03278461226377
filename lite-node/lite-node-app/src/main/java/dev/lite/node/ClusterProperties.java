package dev.lite.node;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.process.StartException;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The cluster and its directory.
 *
 * @param name Name of the cluster; clusters of different names on one ZooKeeper do not see each other.
 * @param zookeeper ZooKeeper that holds the cluster's directory, as host:port[,host:port...].
 * @param sessionTimeout How long a process may be silent until the cluster takes it for gone.
 * @param connectionTimeout How long one attempt to connect to ZooKeeper may take.
 * @param auth Who this process is for ZooKeeper. What it makes there belongs to that user alone; all processes of a cluster
 *     are the same user.
 */
@ConfigurationProperties("lite.cluster")
record ClusterProperties(
        @DefaultValue("lite") String name,
        @Nullable String zookeeper,
        @DefaultValue("6s") Duration sessionTimeout,
        @DefaultValue("5s") Duration connectionTimeout,
        @DefaultValue Auth auth) {

    private static final String AUTH = "lite.cluster.auth";

    /**
     * A user of ZooKeeper's scheme "digest".
     *
     * @param user Name of the user, without a colon.
     * @param password Password of the user. Default: nobody is asked for one, and what is made is everybody's.
     * @param passwordFile File that holds the password, instead of the property; line ends after it do not count.
     */
    record Auth(
            @DefaultValue("lite") String user,
            @Nullable String password,
            @Nullable Path passwordFile) {
        @Override
        public String toString() {
            return "Auth[user=%s, password=%s]"
                    .formatted(user, password == null && passwordFile == null ? "none" : "given");
        }
    }

    CuratorConfig toConfig() {
        if (zookeeper == null || zookeeper.isBlank()) {
            throw new StartException(
                    "no ZooKeeper is configured", "Set lite.cluster.zookeeper to host:port[,host:port...].", null);
        }
        return new CuratorConfig(
                zookeeper,
                name,
                sessionTimeout,
                connectionTimeout,
                CuratorConfig.Credentials.of(AUTH, auth.user(), auth.password(), auth.passwordFile()));
    }
}
