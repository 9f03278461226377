package dev.lite.node;

import dev.lite.cluster.process.HostName;
import dev.lite.session.protocol.SessionArea;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.session.PrincipalPolicy;
import dev.lite.tier.session.SessionServerConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The node.
 *
 * @param name Stable name of the node, unique in the cluster: 1 to 63 of a-z A-Z 0-9 . _ -. Default: the host's name.
 * @param arena Memory that the node contributes.
 * @param runDirectory Directory of the sockets; made if it is missing. The path of a socket has at most 106 bytes.
 * @param socket Unix socket that applications attach to. Default: node.sock in the run directory.
 * @param socketMode Permission bits of that socket, octal; who may write it may ask to attach.
 * @param fabrics What carries data to other nodes, the preferred one first: shm, rdma, tcp. Does not count where lite.fabric is set.
 * @param tcp Data to nodes of other hosts.
 * @param rdma Data to nodes of other hosts whose cards speak RDMA.
 * @param limits What applications may take.
 * @param principals Who may attach, and as whom. Default: everybody who may open the socket, as uid:<user id>.
 * @param deadline How long an operation may wait when its call says nothing; also how long a start may wait for the cluster.
 * @param drainTimeout How long a node that is told to stop may move its memory to other nodes before it leaves; 0 leaves at
 *     once. What has not moved is kept in the memory file.
 * @param orphanGrace For how long memory must belong to no LMR until it is freed; longer than any allocation or move takes.
 * @param spins How often a waiting thread looks before it sleeps.
 * @param session Memory that the node shares with each application.
 */
@ConfigurationProperties("lite.node")
record NodeProperties(
        @Nullable String name,
        @DefaultValue Arena arena,
        @DefaultValue("/run/lite") Path runDirectory,
        @Nullable Path socket,
        @DefaultValue("660") String socketMode,
        @DefaultValue("shm") List<String> fabrics,
        @DefaultValue Tcp tcp,
        @DefaultValue Rdma rdma,
        @DefaultValue Limits limits,
        @DefaultValue List<Principal> principals,
        @DefaultValue("10s") Duration deadline,
        @DefaultValue("30s") Duration drainTimeout,
        @DefaultValue("10m") Duration orphanGrace,
        @DefaultValue Spins spins,
        @DefaultValue Session session) {

    private static final int OCTAL = 8;
    private static final int MODE_MAX = 0777;

    /**
     * The node's memory.
     *
     * @param size Size of the memory.
     * @param directory Directory of all arenas, on a memory file system.
     * @param retain Whether the memory's content stays when the node stops in good order, to be found again at the next start.
     * @param extents How many extents the memory may be cut into; 0 is one for every 4 KiB.
     */
    record Arena(
            @DefaultValue("1GB") DataSize size,
            @DefaultValue("/dev/shm/lite") Path directory,
            @DefaultValue("true") boolean retain,
            @DefaultValue("0") int extents) {}

    /**
     * Limits, checked before anything is taken.
     *
     * @param lmrSize Size of the largest LMR. Default: no limit but the memory.
     * @param handlesPerSession How many handles one application may have.
     * @param nodes How many nodes the cluster may have; a node's id is below it. Fixed when the arena is made.
     * @param sessions How many applications may be attached at once.
     * @param requestsPerSession How many control requests of one application may be under way at once.
     * @param bytesPerPrincipal How much of this node's memory the LMRs of one principal may take, whichever node they were made
     *     at. Default: no limit but the memory.
     */
    record Limits(
            @Nullable DataSize lmrSize,
            @DefaultValue("1048576") int handlesPerSession,
            @DefaultValue("64") int nodes,
            @DefaultValue("256") int sessions,
            @DefaultValue("16") int requestsPerSession,
            @Nullable DataSize bytesPerPrincipal) {

        private static long bytes(@Nullable DataSize size) {
            return size == null ? Long.MAX_VALUE : size.toBytes();
        }

        private LiteNodeConfig.Limits toConfig(int extents) {
            return new LiteNodeConfig.Limits(
                    bytes(lmrSize), handlesPerSession, extents, nodes, bytes(bytesPerPrincipal));
        }
    }

    /**
     * Who an application is. All that is given must fit.
     *
     * @param name What the application is called in permissions.
     * @param uid User id of its process. Default: any.
     * @param token Secret that it shows. Default: none is asked for.
     */
    record Principal(
            String name, @Nullable Integer uid, @Nullable String token) {
        @Override
        public String toString() {
            return "Principal[name=%s, uid=%s, token=%s]".formatted(name, uid, token == null ? "none" : "given");
        }
    }

    /**
     * How often a waiting thread looks in vain before it sleeps: 0 sleeps at once. Default: by the number of cores.
     *
     * @param poll Of the thread that serves the fabrics.
     * @param session Of the thread that serves an application.
     */
    record Spins(@Nullable Integer poll, @Nullable Integer session) {}

    /**
     * Memory that the node shares with each application: slots times window size, once all of it was used.
     *
     * @param slots How many operations of one application may be under way at once; further ones wait. 1 to 64.
     * @param windowSize How much one of them transfers in one step, a multiple of 4KB up to 16MB. Less than 64KB is also the limit
     *     of a call's request and reply.
     */
    record Session(
            @DefaultValue("64") int slots,
            @DefaultValue("64KB") DataSize windowSize) {
        private SessionArea toArea() {
            if (slots < 1 || slots > SessionArea.SLOTS_MAX) {
                throw new IllegalArgumentException(
                        "lite.node.session.slots is %d; it must be 1 to %d".formatted(slots, SessionArea.SLOTS_MAX));
            }
            long window = windowSize.toBytes();
            if (window < 1 || window > SessionArea.WINDOW_BYTES_MAX || window % SessionArea.PAGE_BYTES != 0) {
                throw new IllegalArgumentException(
                        "lite.node.session.window-size is %s; it must be a multiple of %d bytes up to %d"
                                .formatted(windowSize, SessionArea.PAGE_BYTES, SessionArea.WINDOW_BYTES_MAX));
            }
            return new SessionArea(slots, (int) window);
        }
    }

    /**
     * The fabric tcp.
     *
     * @param bind Address to listen at. Anything but a loopback address needs the cluster's secret.
     * @param port Port to listen at; 0 is any free one.
     * @param advertisedHost What other nodes connect to. Default: the address that is listened at.
     * @param lanes How many TCP connections to another node, 1 to 4; the smaller number of the two counts.
     * @param secret What all nodes of the cluster know and nobody else, at least 16 bytes. Default: nobody is asked.
     * @param secretFile File that holds the secret, instead of the property; line ends after it do not count.
     * @param sslBundle Spring SSL bundle with this node's certificate and whom it trusts; both sides of a connection are
     *     checked. Default: bytes are not encrypted.
     * @param peerTimeout How long another node may be silent until it counts as gone.
     */
    record Tcp(
            @DefaultValue("127.0.0.1") String bind,
            @DefaultValue("0") int port,
            @Nullable String advertisedHost,
            @DefaultValue("2") int lanes,
            @Nullable String secret,
            @Nullable Path secretFile,
            @Nullable String sslBundle,
            @DefaultValue("15s") Duration peerTimeout) {

        Map<String, String> toOptions() {
            Map<String, String> options = new HashMap<>();
            options.put("bind", bind);
            options.put("port", Integer.toString(port));
            options.put("lanes", Integer.toString(lanes));
            options.put("peer-timeout-ms", Long.toString(peerTimeout.toMillis()));
            if (advertisedHost != null) {
                options.put("advertised-host", advertisedHost);
            }
            String known = knownSecret();
            if (known != null) {
                options.put("secret", known);
            }
            return options;
        }

        private @Nullable String knownSecret() {
            return readSecret("lite.node.tcp", secret, secretFile);
        }

        @Override
        public String toString() {
            return "Tcp[bind=%s, port=%d, advertisedHost=%s, lanes=%d, secret=%s]"
                    .formatted(
                            bind, port, advertisedHost, lanes, secret == null && secretFile == null ? "none" : "given");
        }
    }

    /**
     * The fabric rdma.
     *
     * @param device RDMA device, as in /sys/class/infiniband. Default: the first one with an IPv4 address.
     * @param host IPv4 address of the device to listen at, which other nodes connect to. Default: the device's first.
     * @param port Port to listen at; 0 is any free one.
     * @param lanes How many queue pairs to another node, 1 to 4; the smaller number of the two counts.
     * @param queueDepth How many requests may be under way in a queue pair, a power of two from 64 to 4096.
     * @param connectionsMax How many other nodes may be connected. Times lanes and queue depth it gives the length of the
     *     completion queue, which devices limit.
     * @param secret What all nodes of the cluster know and nobody else, at least 16 bytes. Default: that of tcp.
     * @param secretFile File that holds the secret, instead of the property; line ends after it do not count.
     * @param peerTimeout How long nothing may come back from another node until it counts as gone.
     * @param windowSize How much of the arena is one registration, a power of two from 1MB to 1GB; less for devices that do not
     *     register as much.
     */
    record Rdma(
            @Nullable String device,
            @Nullable String host,
            @DefaultValue("0") int port,
            @DefaultValue("2") int lanes,
            @DefaultValue("128") int queueDepth,
            @DefaultValue("48") int connectionsMax,
            @Nullable String secret,
            @Nullable Path secretFile,
            @DefaultValue("3s") Duration peerTimeout,
            @DefaultValue("1GB") DataSize windowSize) {

        private Map<String, String> toOptions(@Nullable String knownSecret) {
            Map<String, String> options = new HashMap<>();
            options.put("port", Integer.toString(port));
            options.put("lanes", Integer.toString(lanes));
            options.put("queue-depth", Integer.toString(queueDepth));
            options.put("connections-max", Integer.toString(connectionsMax));
            options.put("peer-timeout-ms", Long.toString(peerTimeout.toMillis()));
            options.put("window-bytes", Long.toString(windowSize.toBytes()));
            putIfSet(options, "device", device);
            putIfSet(options, "host", host);
            putIfSet(options, "secret", knownSecret);
            return options;
        }

        private static void putIfSet(Map<String, String> options, String name, @Nullable String value) {
            if (value != null) {
                options.put(name, value);
            }
        }

        @Override
        public String toString() {
            return "Rdma[device=%s, host=%s, port=%d, lanes=%d, secret=%s]"
                    .formatted(device, host, port, lanes, secret == null && secretFile == null ? "none" : "given");
        }
    }

    private static @Nullable String readSecret(String prefix, @Nullable String secret, @Nullable Path file) {
        if (file == null) {
            return secret;
        }
        if (secret != null) {
            throw new IllegalArgumentException(
                    "%s.secret and %s.secret-file are both set; one is enough".formatted(prefix, prefix));
        }
        try {
            return Files.readString(file).stripTrailing();
        } catch (IOException e) {
            throw new UncheckedIOException("%s.secret-file %s cannot be read".formatted(prefix, file), e);
        }
    }

    /** What nodes over RDMA know: one secret of the cluster is enough for both fabrics. */
    @Nullable
    String rdmaSecret() {
        String own = readSecret("lite.node.rdma", rdma.secret(), rdma.secretFile());
        return own == null ? tcp.knownSecret() : own;
    }

    String nodeName() {
        return name == null ? HostName.get() : name;
    }

    LiteNodeConfig toConfig(String cluster) {
        return toConfig(cluster, fabrics);
    }

    /** With these fabrics instead of the listed ones. */
    LiteNodeConfig toConfig(String cluster, List<String> chosen) {
        checkTimes();
        LiteNodeConfig.Builder builder = LiteNodeConfig.builder(
                        cluster, nodeName(), arena.size().toBytes(), runDirectory.toAbsolutePath())
                .arena(arena.directory().toAbsolutePath(), arena.retain())
                .limits(limits.toConfig(arena.extents()))
                .deadline(deadline);
        if (chosen.contains("tcp")) {
            builder.fabricOptions("tcp", tcp.toOptions());
        }
        if (chosen.contains("rdma")) {
            builder.fabricOptions("rdma", rdma.toOptions(rdmaSecret()));
        }
        if (spins.poll() != null) {
            builder.pollSpins(spins.poll());
        }
        return builder.build();
    }

    SessionServerConfig toSessionConfig() {
        Path path = socket == null ? runDirectory.resolve("node.sock") : socket;
        SessionServerConfig config = SessionServerConfig.of(path.toAbsolutePath())
                .withSocketMode(mode())
                .withPolicy(policy())
                .withArea(session.toArea())
                .withLimits(limits.sessions(), limits.handlesPerSession(), limits.requestsPerSession());
        return spins.session() == null ? config : config.withSpins(spins.session());
    }

    private int mode() {
        try {
            int mode = Integer.parseInt(socketMode, OCTAL);
            if (mode >= 0 && mode <= MODE_MAX) {
                return mode;
            }
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(
                    "lite.node.socket-mode is \"%s\", which is not an octal number".formatted(socketMode), e);
        }
        throw new IllegalArgumentException(
                "lite.node.socket-mode is %s; it must be 0 to %o".formatted(socketMode, MODE_MAX));
    }

    private void checkTimes() {
        if (drainTimeout.isNegative()) {
            throw new IllegalArgumentException(
                    "lite.node.drain-timeout is %s; it must be 0 (leave at once) or more".formatted(drainTimeout));
        }
        Duration least = deadline.multipliedBy(2);
        if (orphanGrace.compareTo(least) < 0) {
            throw new IllegalArgumentException(
                    "lite.node.orphan-grace is %s; it must be at least %s, twice lite.node.deadline, since memory is allocated before its LMR is known"
                            .formatted(orphanGrace, least));
        }
    }

    private PrincipalPolicy policy() {
        if (principals.isEmpty()) {
            return PrincipalPolicy.byUid();
        }
        return PrincipalPolicy.of(principals.stream()
                .map(principal -> new PrincipalPolicy.Rule(
                        principal.name(),
                        principal.uid() == null ? OptionalInt.empty() : OptionalInt.of(principal.uid()),
                        principal.token()))
                .toList());
    }
}
