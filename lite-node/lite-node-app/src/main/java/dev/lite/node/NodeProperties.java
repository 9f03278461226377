package dev.lite.node;

import dev.lite.cluster.process.HostName;
import dev.lite.cluster.process.PropertyChecks;
import dev.lite.cluster.process.Trust;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.os.waiting.Durations;
import dev.lite.session.protocol.SessionArea;
import dev.lite.tier.channel.NodeChannels;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.session.SessionServerConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The node.
 *
 * @param name Stable name of the node, unique in the cluster: 1 to 63 of a-z A-Z 0-9 . _ -. Default: the host name.
 * @param arena Memory that the node contributes.
 * @param runDirectory Directory for sockets; created if it is missing. The path of a socket has at most 106 bytes.
 * @param socket Unix socket that applications attach to. Default: node.sock in the run directory.
 * @param socketMode Permission bits of the applications' socket, octal; users with write permission may attach.
 * @param managementUrl URL below which managers reach the node's actuator endpoints, such as
 *     http://10.0.0.1:7410/actuator. Default: the address of its own web server, which other hosts cannot reach while it
 *     is loopback.
 * @param fabrics Fabrics to other nodes in order of preference: shm, rdma, tcp. Ignored when lite.fabric is set.
 * @param tcp Connections to nodes on other hosts over TCP.
 * @param rdma Connections to nodes on other hosts over RDMA.
 * @param limits Limits for applications.
 * @param principals Applications that may attach: each with a name, and a uid, a token or both, which must match. Default:
 *     every user who may open the socket, named uid:<user id>.
 * @param deadline Timeout of operations that do not set their own; also how long the start may wait for the cluster.
 * @param drainTimeout How long a node that shuts down may move its memory to other nodes before it leaves; 0 leaves
 *     immediately. Memory that was not moved stays in the arena file.
 * @param orphanGrace How long memory must belong to no LMR before it is freed; must be longer than any allocation or move
 *     takes.
 * @param returnGrace How long operations wait, within their deadlines, for the memory of a node that left the cluster. Later
 *     they fail at once. Should be longer than the restart of a node takes.
 * @param nameIdle How long nobody uses a lock or barrier before its name is forgotten: 1 s to 1 day.
 * @param channelsMax Maximum number of channels of this node's applications, 0 to 4096, divided among principals. A channel
 *     between two applications of this node counts twice. 0 turns channels off.
 * @param spins Spin iterations of a waiting thread before it blocks.
 * @param session Memory that the node shares with each application.
 * @param management Access to the actuator endpoints.
 * @param qos Quality of service at the start. A policy of the cluster replaces it.
 */
@ConfigurationProperties(prefix = "lite.node", ignoreUnknownFields = false)
record NodeProperties(
        @Nullable String name,
        @DefaultValue Arena arena,
        @DefaultValue("/run/lite") Path runDirectory,
        @Nullable Path socket,
        @DefaultValue("660") String socketMode,
        @Nullable URI managementUrl,
        @DefaultValue("shm") List<String> fabrics,
        @DefaultValue Tcp tcp,
        @DefaultValue Rdma rdma,
        @DefaultValue Limits limits,
        @DefaultValue List<PrincipalProperties> principals,
        @DefaultValue("10s") Duration deadline,
        @DefaultValue("30s") Duration drainTimeout,
        @DefaultValue("10m") Duration orphanGrace,
        @DefaultValue("30s") Duration returnGrace,
        @DefaultValue("1m") Duration nameIdle,
        @DefaultValue("256") int channelsMax,
        @DefaultValue Spins spins,
        @DefaultValue Session session,
        @DefaultValue Management management,
        @DefaultValue Qos qos) {

    private static final Duration NAME_IDLE_MIN = Duration.ofSeconds(1);
    private static final Duration NAME_IDLE_MAX = Duration.ofDays(1);
    private static final Duration REST_AFTER_MIN = Duration.ofSeconds(1);
    private static final Duration REST_AFTER_MAX = Duration.ofDays(1);
    private static final int OCTAL = 8;
    private static final int MODE_MAX = 0777;

    NodeProperties {
        managementUrl = managementUrl == null ? null : withBrackets(managementUrl);
    }

    /** Kubernetes names the IPv6 address of a pod without brackets, and a chart cannot add them. */
    private static URI withBrackets(URI url) {
        String authority = url.getRawAuthority();
        if (url.getHost() != null || authority == null) {
            return url;
        }
        int port = authority.lastIndexOf(':');
        if (authority.indexOf(':') == port || authority.startsWith("[")) {
            return url;
        }
        try {
            return new URI("%s://[%s]%s%s"
                    .formatted(
                            url.getScheme(),
                            authority.substring(0, port),
                            authority.substring(port),
                            url.getRawPath()));
        } catch (URISyntaxException noAddress) {
            return url; // refused later
        }
    }

    /**
     * The node's memory.
     *
     * @param size Size of the node's memory; fixed when the arena is created.
     * @param directory Parent directory of all arenas, on a memory file system.
     * @param retain Whether the memory's content is kept when the node shuts down cleanly, for the next start.
     * @param extents Maximum number of extents in the memory; 0 means one for every 4 KiB. 1,024 locks or barriers share one.
     */
    record Arena(
            @DefaultValue("1GB") DataSize size,
            @DefaultValue("/dev/shm/lite") Path directory,
            @DefaultValue("true") boolean retain,
            @DefaultValue("0") int extents) {}

    /**
     * Limits, checked before anything is allocated.
     *
     * @param lmrSize Maximum size of an LMR. Default: limited by the memory only.
     * @param handles Maximum number of handles of all applications, divided among principals; 0 means one for each KB of the
     *     largest heap.
     * @param handlesPerSession Maximum number of handles of one application.
     * @param nodes Maximum number of names that nodes of the cluster ever had, since each name keeps its id;
     *     ids are below it. Fixed when the arena is created.
     * @param sessions Maximum number of attached applications.
     * @param requestsPerSession Maximum number of concurrent control requests of one application.
     * @param bytesPerPrincipal Maximum amount of this node's memory for the LMRs of one principal, wherever they were
     *     created. Default: limited by the memory only.
     */
    record Limits(
            @Nullable DataSize lmrSize,
            @DefaultValue("0") int handles,
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
                    bytes(lmrSize), handlesPerSession, handles, extents, nodes, bytes(bytesPerPrincipal));
        }
    }

    /**
     * Access to the actuator endpoints.
     *
     * @param token Secret with which other hosts may use all endpoints: at least 16 visible ASCII characters. Default: they see
     *     only health and info.
     */
    record Management(@Nullable String token) {
        private static final int CHARACTERS_MIN = 16;

        Management {
            if (token != null && token.length() < CHARACTERS_MIN) {
                throw new IllegalArgumentException(
                        "lite.node.management.token has %d characters; it must have at least %d"
                                .formatted(token.length(), CHARACTERS_MIN));
            }
            if (token != null && !PropertyChecks.isHeaderToken(token)) {
                throw new IllegalArgumentException(
                        "lite.node.management.token must consist of visible ASCII characters");
            }
        }

        @Override
        public String toString() {
            return "Management[token=%s]".formatted(token == null ? "none" : "given");
        }
    }

    /**
     * Quality of service.
     *
     * @param mode Mechanism: off, hw-sep (lanes reserved for each priority) or sw-pri (the sender limits low priority).
     * @param highShare Percentage of the lanes to each node that hw-sep reserves for high priority; the shares add up to 100.
     * @param lowShare Percentage of the lanes to each node that hw-sep reserves for low priority.
     * @param lightLoad Average number of operations of high priority under way below which sw-pri does not limit low priority.
     * @param heavyLoad Average number of operations of high priority under way from which sw-pri limits low priority.
     * @param roundTripFactor How many times its shortest round trip an operation of high priority may take before sw-pri limits
     *     low priority.
     * @param lowRate Data per second that low priority keeps at least, 64KB or more. It always keeps 3 percent of what
     *     the node transfers.
     * @param quotas Limits by principal, in every mode.
     */
    record Qos(
            @DefaultValue("off") QosPolicy.Mode mode,
            @DefaultValue("75") int highShare,
            @DefaultValue("25") int lowShare,
            @DefaultValue("0.1") double lightLoad,
            @DefaultValue("1") double heavyLoad,
            @DefaultValue("2") double roundTripFactor,
            @DefaultValue("64KB") DataSize lowRate,
            @DefaultValue Map<String, Quota> quotas) {
        private static final Map<String, String> PROPERTIES = Map.of(
                "highShare", "high-share",
                "lowShare", "low-share",
                "lightLoad", "light-load",
                "heavyLoad", "heavy-load",
                "roundTripFactor", "round-trip-factor",
                "lowBytesPerSecond", "low-rate");

        /**
         * Limits of a principal at this node; at least one of both.
         *
         * @param bytes Data per second, at least 64KB. Default: no limit.
         * @param operations Operations per second, at least 1. Default: no limit.
         */
        record Quota(@Nullable DataSize bytes, @Nullable Long operations) {}

        QosPolicy toPolicy() {
            Map<String, QosPolicy.Quota> byPrincipal = new HashMap<>();
            quotas.forEach((principal, quota) -> byPrincipal.put(
                    principal,
                    new QosPolicy.Quota(
                            quota.bytes() == null ? null : quota.bytes().toBytes(), quota.operations())));
            try {
                return new QosPolicy(
                        mode,
                        highShare,
                        lowShare,
                        lightLoad,
                        heavyLoad,
                        roundTripFactor,
                        lowRate.toBytes(),
                        byPrincipal);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(named(String.valueOf(e.getMessage())), e);
            }
        }

        private static String named(String message) {
            String text = message;
            for (Map.Entry<String, String> property : PROPERTIES.entrySet()) {
                text = text.replace(property.getKey(), "lite.node.qos." + property.getValue());
            }
            return text.startsWith("lite.node.qos.") ? text : "lite.node.qos.quotas: " + text;
        }
    }

    /**
     * Unsuccessful spin iterations of a waiting thread before it blocks; 0 blocks immediately. Default: depends on the
     * number of cores.
     *
     * @param poll Spin iterations of the thread that serves the fabrics, before it blocks. Default: by the number of cores.
     * @param session Spin iterations of the thread that serves an application, before it blocks. Default: by the number of cores.
     */
    record Spins(@Nullable Integer poll, @Nullable Integer session) {}

    /**
     * Memory shared with each application: up to slots times window size.
     *
     * @param slots Maximum number of concurrent operations of one application, 1 to 64; further ones wait. If 8 or more, calls through the nodes get three quarters at most.
     * @param windowSize Bytes that one operation transfers in one step, a multiple of 4KB up to 16MB. A value below 64KB
     *     also limits the request and the reply of a call.
     * @param restAfter How long an application keeps a thread of the node after its last operation: 1 s to 1 day. Its next
     *     operation then takes up to a millisecond more.
     */
    record Session(
            @DefaultValue("64") int slots,
            @DefaultValue("64KB") DataSize windowSize,
            @DefaultValue("1m") Duration restAfter) {
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
     * @param bind Address to listen on.
     * @param port Port to listen on; 0 selects a free port.
     * @param advertisedHost Host name or address that other nodes connect to. Default: the bind address.
     * @param lanes TCP connections to each node, 1 to 4; the smaller value of the two nodes is used.
     * @param secret Secret shared by all nodes of the cluster, at least 16 bytes. The fabric needs it, or an SSL bundle, on
     *     every address.
     * @param secretFile File with the secret, instead of the property; trailing line breaks are ignored. While the secret changes,
     *     it has two lines: the secret for connecting, and another one that is also accepted.
     * @param protection What protects data between nodes: encrypted (AES-128-GCM with keys of the handshake; every byte is
     *     authenticated) or none (only the handshake is authenticated). A connection is encrypted if one of its nodes says so. An SSL
     *     bundle replaces it.
     * @param sslBundle Spring SSL bundle with this node's certificate and its trusted certificates, for TLS 1.3 instead of the
     *     protection above; both sides of a connection are verified.
     * @param verifyNames Whether the certificate of another node must have the name of that node as a DNS name; false if all nodes share
     *     one certificate.
     * @param channels Whether attached applications get channels to other hosts, which are TCP connections of their own; false: their
     *     calls pass the nodes.
     * @param peerTimeout How long another node may be silent before its connection is closed.
     */
    record Tcp(
            @DefaultValue("127.0.0.1") String bind,
            @DefaultValue("0") int port,
            @Nullable String advertisedHost,
            @DefaultValue("2") int lanes,
            @Nullable String secret,
            @Nullable Path secretFile,
            @DefaultValue("encrypted") String protection,
            @Nullable String sslBundle,
            @DefaultValue("true") boolean verifyNames,
            @DefaultValue("true") boolean channels,
            @DefaultValue("15s") Duration peerTimeout) {

        Map<String, String> toOptions() {
            Map<String, String> options = new HashMap<>();
            options.put("bind", bind);
            options.put("port", Integer.toString(port));
            options.put("lanes", Integer.toString(lanes));
            options.put("peer-timeout-ms", Long.toString(peerTimeout.toMillis()));
            options.put("protection", protection);
            options.put("verify-names", Boolean.toString(verifyNames));
            options.put("channels", Boolean.toString(channels));
            if (advertisedHost != null) {
                options.put("advertised-host", advertisedHost);
            }
            String known = configuredSecret();
            if (known != null) {
                options.put("secret", known);
            }
            return options;
        }

        /** Whether nobody can connect without a secret or a certificate. */
        boolean isProtected() {
            return secret != null || secretFile != null || sslBundle != null;
        }

        private @Nullable String configuredSecret() {
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
     * @param host IPv4 address of the device to listen on, which other nodes connect to. Default: the device's first
     *     address.
     * @param port Port to listen on; 0 selects a free port.
     * @param lanes Queue pairs to each node, 1 to 4; the smaller value of the two nodes is used.
     * @param queueDepth Maximum number of outstanding requests of a queue pair, a power of two from 64 to 4096.
     * @param connectionsMax Maximum number of connected nodes. The completion queue has this number times lanes times queue
     *     depth entries, which devices limit.
     * @param secret Secret shared by all nodes of the cluster, at least 16 bytes. Default: the secret of tcp.
     * @param secretFile File with the secret, instead of the property; trailing line breaks are ignored.
     * @param peerTimeout How long another node may not respond before its connection is closed.
     * @param windowSize Part of the arena that is registered at once, a power of two from 1MB to 1GB; reduce it for devices
     *     with a lower limit.
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

        private Map<String, String> toOptions(@Nullable String configuredSecret) {
            Map<String, String> options = new HashMap<>();
            options.put("port", Integer.toString(port));
            options.put("lanes", Integer.toString(lanes));
            options.put("queue-depth", Integer.toString(queueDepth));
            options.put("connections-max", Integer.toString(connectionsMax));
            options.put("peer-timeout-ms", Long.toString(peerTimeout.toMillis()));
            options.put("window-bytes", Long.toString(windowSize.toBytes()));
            putIfSet(options, "device", device);
            putIfSet(options, "host", host);
            putIfSet(options, "secret", configuredSecret);
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
                    "%s.secret and %s.secret-file are both set; set only one".formatted(prefix, prefix));
        }
        Trust.checkSecretFile(prefix + ".secret-file", file);
        try {
            return Files.readString(file).stripTrailing();
        } catch (IOException e) {
            throw new UncheckedIOException("%s.secret-file %s cannot be read".formatted(prefix, file), e);
        }
    }

    /** The secret for RDMA; it defaults to that of TCP. */
    @Nullable
    String rdmaSecret() {
        String own = readSecret("lite.node.rdma", rdma.secret(), rdma.secretFile());
        return own == null ? tcp.configuredSecret() : own;
    }

    String nodeName() {
        return name == null ? HostName.get() : name;
    }

    LiteNodeConfig toConfig(String cluster) {
        return toConfig(cluster, fabrics);
    }

    /** Uses these fabrics instead of the configured ones. */
    LiteNodeConfig toConfig(String cluster, List<String> chosen) {
        checkTimes();
        checkManagementUrl();
        checkChannels();
        LiteNodeConfig.Builder builder = LiteNodeConfig.builder(
                        cluster, nodeName(), arena.size().toBytes(), runDirectory.toAbsolutePath())
                .arena(arena.directory().toAbsolutePath(), arena.retain())
                .limits(limits.toConfig(arena.extents()))
                .deadline(deadline)
                .channelsMax(channelsMax)
                .priorities(PrincipalProperties.priorities(principals))
                .names(PrincipalProperties.names(principals))
                .qos(qos.toPolicy());
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
                .withPolicy(PrincipalProperties.policy(principals))
                .withArea(session.toArea())
                .withRestAfter(session.restAfter())
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

    private void checkManagementUrl() {
        if (managementUrl != null
                && (managementUrl.getHost() == null
                        || !("http".equals(managementUrl.getScheme()) || "https".equals(managementUrl.getScheme())))) {
            throw new IllegalArgumentException(
                    "lite.node.management-url is \"%s\"; it must be http://HOST:PORT/PATH or https://HOST:PORT/PATH"
                            .formatted(managementUrl));
        }
    }

    private void checkTimes() {
        if (returnGrace.isNegative()) {
            throw new IllegalArgumentException("lite.node.return-grace is %s; it must be 0 (no wait) or more"
                    .formatted(Durations.text(returnGrace)));
        }
        if (drainTimeout.isNegative()) {
            throw new IllegalArgumentException("lite.node.drain-timeout is %s; it must be 0 (leave immediately) or more"
                    .formatted(Durations.text(drainTimeout)));
        }
        Duration least = deadline.multipliedBy(2);
        if (orphanGrace.compareTo(least) < 0) {
            throw new IllegalArgumentException(
                    "lite.node.orphan-grace is %s; it must be at least %s, twice lite.node.deadline, because memory is allocated before its LMR is recorded"
                            .formatted(Durations.text(orphanGrace), Durations.text(least)));
        }
        Duration rest = session.restAfter();
        if (rest.compareTo(REST_AFTER_MIN) < 0 || rest.compareTo(REST_AFTER_MAX) > 0) {
            throw new IllegalArgumentException("lite.node.session.rest-after is %s; it must be %s to %s"
                    .formatted(Durations.text(rest), Durations.text(REST_AFTER_MIN), Durations.text(REST_AFTER_MAX)));
        }
        if (nameIdle.compareTo(NAME_IDLE_MIN) < 0 || nameIdle.compareTo(NAME_IDLE_MAX) > 0) {
            throw new IllegalArgumentException("lite.node.name-idle is %s; it must be %s to %s"
                    .formatted(Durations.text(nameIdle), Durations.text(NAME_IDLE_MIN), Durations.text(NAME_IDLE_MAX)));
        }
    }

    private void checkChannels() {
        if (channelsMax < 0 || channelsMax > NodeChannels.CHANNELS_MAX) {
            throw new IllegalArgumentException("lite.node.channels-max is %d; it must be 0 (no channels) to %d"
                    .formatted(channelsMax, NodeChannels.CHANNELS_MAX));
        }
    }
}
