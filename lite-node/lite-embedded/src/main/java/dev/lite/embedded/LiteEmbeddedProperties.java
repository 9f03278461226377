package dev.lite.embedded;

import dev.lite.cluster.CuratorConfig;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * A node inside this application.
 *
 * @param enabled Whether to start one, instead of attaching to this host's node.
 * @param cluster Name of the cluster. Default: one of this process alone.
 * @param name Name of the node, unique in the cluster.
 * @param zookeeper ZooKeeper of the cluster to join, as host:port[,host:port...]. Default: none, a cluster of one.
 * @param arenaDirectory Directory of all arenas, on a memory file system.
 * @param arenaSize Memory that the node contributes; it is gone when the application ends.
 * @param principal Who the application is in permissions. Default: the value of spring.application.name.
 * @param deadline How long an operation may wait when the call itself names no deadline.
 * @param fabric What carries data to other nodes, of the drivers on the class path: auto is shm on the same host, else rdma, else tcp, of
 *     those that work here; or shm, rdma or tcp alone.
 * @param require Fabric without which the application does not start, and in whose place none that is less preferred is used. Default:
 *     what works is used.
 * @param secret What all nodes of the cluster know, for rdma and tcp, at least 16 bytes. Default: none, and no rdma.
 * @param auth Who the node is for ZooKeeper. All processes of a cluster are the same user.
 */
@ConfigurationProperties("lite.embedded")
record LiteEmbeddedProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String cluster,
        @DefaultValue("embedded") String name,
        @Nullable String zookeeper,
        @DefaultValue("/dev/shm/lite") Path arenaDirectory,
        @DefaultValue("64MB") DataSize arenaSize,
        @Nullable String principal,
        @DefaultValue("10s") Duration deadline,
        @DefaultValue("auto") String fabric,
        @Nullable String require,
        @Nullable String secret,
        @DefaultValue Auth auth) {

    /**
     * A user of ZooKeeper's scheme "digest".
     *
     * @param user Name of the user, without a colon.
     * @param password Password of the user. Default: none, and the cluster's directory is everybody's.
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

    @Override
    public String toString() {
        return "LiteEmbeddedProperties[cluster=%s, name=%s, zookeeper=%s, auth=%s]"
                .formatted(cluster, name, zookeeper, auth); // without the secret
    }

    EmbeddedNodeConfig toConfig() {
        EmbeddedNodeConfig.Builder builder = EmbeddedNodeConfig.builder()
                .name(name)
                .zookeeper(zookeeper)
                .arenaDirectory(arenaDirectory)
                .arenaBytes(arenaSize.toBytes())
                .deadline(deadline)
                .fabric(fabric)
                .require(require)
                .secret(secret)
                .credentials(CuratorConfig.Credentials.of(
                        "lite.embedded.auth", auth.user(), auth.password(), auth.passwordFile()));
        if (cluster != null) {
            builder.cluster(cluster);
        }
        return builder.build();
    }
}
