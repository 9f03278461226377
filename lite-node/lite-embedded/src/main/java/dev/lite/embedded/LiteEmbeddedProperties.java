package dev.lite.embedded;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.process.PropertyChecks;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.peer.FabricSelection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * A node inside this application.
 *
 * @param enabled Whether to start a node, instead of attaching to this host's node.
 * @param cluster Name of the cluster; required with a ZooKeeper. Default: a name that no other cluster in this process has.
 * @param name Name of the node, unique in the cluster.
 * @param zookeeper ZooKeeper of the cluster to join, as host:port[,host:port...]. Default: none, for a cluster of this node alone.
 * @param arenaDirectory Parent directory of all arenas, on a memory file system.
 * @param arenaSize Memory that the node contributes; its contents are lost when the application ends.
 * @param principal Principal of the application, for permissions. Default: the value of spring.application.name.
 * @param deadline Timeout of operations that do not set their own.
 * @param fabric Fabric to other nodes: auto uses all drivers on the class path that work on this host, and prefers shm (same host only),
 *     then rdma, then tcp; shm, rdma or tcp uses only that one.
 * @param require Fabric that must work, or the application does not start; fabrics that are less preferred are not used. Default: none.
 * @param secret Shared secret of the cluster (lite.cluster.secret-file of its nodes and managers), for rdma, tcp and the signatures of
 *     records in ZooKeeper; at least 16 bytes. Default: none; then only shm is used, in a cluster without such a secret.
 * @param secretFile File with the secret, instead of the property; trailing line breaks are ignored. While the secret changes, it has two
 *     lines: the node connects and signs with the first one, and accepts both.
 * @param auth ZooKeeper user of this node. All processes of a cluster use the same user.
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
        @Nullable Path secretFile,
        @DefaultValue Auth auth) {

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,63}");
    private static final Set<String> FABRICS = Set.of("shm", "rdma", "tcp");
    private static final int SECRET_BYTES_MIN = 16;

    LiteEmbeddedProperties {
        checkName("name", name);
        if (cluster != null) {
            checkName("cluster", cluster);
        }
        if (zookeeper != null && zookeeper.isBlank()) {
            throw new IllegalArgumentException(
                    "lite.embedded.zookeeper is \"%s\"; it must be host:port[,host:port...]".formatted(zookeeper));
        }
        if (arenaSize.toBytes() < ArenaConfig.BYTES_MIN) {
            throw new IllegalArgumentException("lite.embedded.arena-size is %s; it must be at least %dB"
                    .formatted(arenaSize, ArenaConfig.BYTES_MIN));
        }
        PropertyChecks.deadline("lite.embedded.deadline", deadline);
        PropertyChecks.user("lite.embedded.auth.user", auth.user());
        if (!fabric.equals(FabricSelection.AUTO) && !FABRICS.contains(fabric)) {
            throw new IllegalArgumentException(
                    "lite.embedded.fabric is \"%s\"; it must be auto, shm, rdma or tcp".formatted(fabric));
        }
        if (require != null && !FABRICS.contains(require)) {
            throw new IllegalArgumentException(
                    "lite.embedded.require is \"%s\"; it must be shm, rdma or tcp".formatted(require));
        }
        if (secret != null && secret.getBytes(StandardCharsets.UTF_8).length < SECRET_BYTES_MIN) {
            throw new IllegalArgumentException("lite.embedded.secret has %d bytes; it must have at least %d"
                    .formatted(secret.getBytes(StandardCharsets.UTF_8).length, SECRET_BYTES_MIN));
        }
    }

    private static void checkName(String property, String value) {
        if (!NAME.matcher(value).matches() || value.equals(".") || value.equals("..")) {
            throw new IllegalArgumentException(
                    "lite.embedded.%s is \"%s\"; it must be 1 to 63 of the characters a-z A-Z 0-9 . _ -"
                            .formatted(property, value));
        }
    }

    /**
     * A user of ZooKeeper's scheme "digest".
     *
     * @param user Name of the ZooKeeper user, without a colon.
     * @param password Password of the ZooKeeper user. Default: none; then every client of ZooKeeper can access the cluster's directory.
     * @param passwordFile File that contains the password, instead of the property; line ends after it are ignored.
     */
    record Auth(
            @DefaultValue("lite") String user,
            @Nullable String password,
            @Nullable Path passwordFile) {
        EmbeddedNodeConfig.@Nullable User toUser() {
            CuratorConfig.Credentials read =
                    CuratorConfig.Credentials.of("lite.embedded.auth", user, password, passwordFile);
            return read == null ? null : new EmbeddedNodeConfig.User(read.user(), read.password());
        }

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

    private @Nullable String readSecret() {
        CuratorConfig.Signing signing = CuratorConfig.Signing.of("lite.embedded", secret, secretFile, false);
        return signing == null ? null : signing.secret();
    }

    EmbeddedNodeConfig.Builder toConfig() {
        EmbeddedNodeConfig.Builder builder = EmbeddedNodeConfig.builder()
                .name(name)
                .zookeeper(zookeeper)
                .arenaDirectory(arenaDirectory)
                .arenaBytes(arenaSize.toBytes())
                .deadline(deadline)
                .fabric(fabric)
                .require(require)
                .secret(readSecret())
                .user(auth.toUser());
        if (cluster != null) {
            builder.cluster(cluster);
        }
        return builder;
    }
}
