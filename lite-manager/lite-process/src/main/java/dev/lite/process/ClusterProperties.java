package dev.lite.process;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.process.PropertyChecks;
import dev.lite.cluster.process.StartException;
import dev.lite.cluster.process.Trust;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The cluster and its directory.
 *
 * @param name Name of the cluster; clusters with different names on one ZooKeeper are isolated from each other.
 * @param zookeeper ZooKeeper connect string, as host:port[,host:port...]. A manager with an embedded ZooKeeper needs none.
 * @param sessionTimeout How long a process may be silent before the cluster removes it.
 * @param connectionTimeout Timeout of one attempt to connect to ZooKeeper.
 * @param auth ZooKeeper user of this process. Only this user may access what the process creates; all processes of a
 *     cluster need the same user.
 * @param secret Secret shared by all nodes and managers of the cluster, at least 16 bytes. They sign what they write to ZooKeeper with
 *     it, and refuse what others wrote. Default: nothing is signed.
 * @param secretFile File with the secret, instead of the property; trailing line breaks are ignored. While the secret changes,
 *     it has two lines: the secret for signing, and another one that is also accepted.
 * @param acceptUnsigned Whether records without a signature are accepted, too: only while a cluster without a secret gets one.
 * @param sslBundle Spring SSL bundle with the certificates that this process trusts for ZooKeeper, and its own if ZooKeeper requires
 *     one. By default connections to ZooKeeper are not encrypted.
 */
@ConfigurationProperties("lite.cluster")
public record ClusterProperties(
        @DefaultValue("lite") String name,
        @Nullable String zookeeper,
        @DefaultValue("6s") Duration sessionTimeout,
        @DefaultValue("5s") Duration connectionTimeout,
        @DefaultValue Auth auth,
        @Nullable String secret,
        @Nullable Path secretFile,
        @DefaultValue("false") boolean acceptUnsigned,
        @Nullable String sslBundle) {

    private static final String AUTH = "lite.cluster.auth";

    /** Checks the values. */
    public ClusterProperties {
        PropertyChecks.cluster(name, zookeeper, sessionTimeout, connectionTimeout, auth.user());
        PropertyChecks.secret("lite.cluster.secret", secret);
    }

    /**
     * A user of ZooKeeper's scheme "digest".
     *
     * @param user Name of the ZooKeeper user, without a colon.
     * @param password Password of the ZooKeeper user. By default no authentication is used, and every client of ZooKeeper may access
     *     the data.
     * @param passwordFile File with the password, instead of the property; trailing line breaks are ignored.
     * @param open Whether a process without a password also starts when ZooKeeper is on another host. Everybody who reaches that
     *     ZooKeeper may then add nodes and change permissions.
     */
    public record Auth(
            @DefaultValue("lite") String user,
            @Nullable String password,
            @Nullable Path passwordFile,
            @DefaultValue("false") boolean open) {
        /** Whether there is a password. */
        public boolean hasPassword() {
            return password != null || passwordFile != null;
        }

        @Override
        public String toString() {
            return "Auth[user=%s, password=%s]".formatted(user, hasPassword() ? "given" : "none");
        }
    }

    /**
     * The configuration of the connection to a ZooKeeper that is configured.
     *
     * @param tls for connections to ZooKeeper; null for none
     * @throws StartException if no ZooKeeper is configured
     */
    public CuratorConfig toConfig(CuratorConfig.@Nullable Tls tls) {
        if (zookeeper == null || zookeeper.isBlank()) {
            throw new StartException(
                    "no ZooKeeper is configured", "Set lite.cluster.zookeeper to host:port[,host:port...].", null);
        }
        return toConfig(zookeeper, tls);
    }

    /**
     * The configuration of the connection to a ZooKeeper.
     *
     * @param connectString of the ZooKeeper
     * @param tls for connections to ZooKeeper; null for none
     */
    public CuratorConfig toConfig(String connectString, CuratorConfig.@Nullable Tls tls) {
        Trust.requireUser(connectString, auth.hasPassword(), auth.open());
        return new CuratorConfig(
                connectString,
                name,
                sessionTimeout,
                connectionTimeout,
                CuratorConfig.Credentials.of(AUTH, auth.user(), auth.password(), auth.passwordFile()),
                CuratorConfig.Signing.of("lite.cluster", secret, secretFile, acceptUnsigned),
                tls);
    }

    /** Without the secret. */
    @Override
    public String toString() {
        return "Cluster[name=%s, zookeeper=%s, auth=%s, sslBundle=%s]".formatted(name, zookeeper, auth, sslBundle);
    }
}
