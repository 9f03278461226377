package dev.lite.node;

import static dev.lite.cluster.process.PropertyChecks.deadline;
import static dev.lite.cluster.process.PropertyChecks.range;

import dev.lite.cluster.process.PropertyChecks;
import dev.lite.cluster.process.StartException;
import dev.lite.os.waiting.Durations;
import dev.lite.process.ClusterProperties;
import dev.lite.tier.memory.ArenaConfig;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;
import org.springframework.util.unit.DataSize;

/**
 * Checks the node's properties. The parts of a node check their values again, but do not know the properties' names, and do it after
 * others have opened files and connections.
 */
final class NodeChecks {
    private static final List<String> FABRICS = List.of("shm", "rdma", "tcp");
    private static final List<String> PROTECTIONS = List.of("encrypted", "none");
    private static final int SOCKET_BYTES_MAX = 106;
    private static final int PORT_MAX = 65_535;
    private static final int LANES_MAX = 4;
    private static final int SECRET_BYTES_MIN = 16;
    private static final int SECRET_BYTES_MAX = 1024;
    private static final int QUEUE_DEPTH_MIN = 64;
    private static final int QUEUE_DEPTH_MAX = 4096;
    private static final int RDMA_CONNECTIONS_MAX = 1024;
    private static final int EXTENTS_MIN = 64;
    private static final int NODES_MAX = 1024;
    private static final int HANDLES_MAX = 1 << 24;
    private static final int SESSIONS_MAX = 1 << 16;
    private static final int REQUESTS_MAX = 1024;
    private static final int SPINS_MAX = 10_000_000;
    private static final long MEBIBYTE = 1L << 20;
    private static final long GIBIBYTE = 1L << 30;
    private static final Duration PEER_TIMEOUT_MIN = Duration.ofMillis(300);
    private static final Duration PEER_TIMEOUT_MAX = Duration.ofMinutes(10);
    private static final Duration GRACE_MAX = Duration.ofDays(365);

    private NodeChecks() {}

    /**
     * Checks everything that the node can know before it opens anything.
     *
     * @param fabrics the chosen ones
     * @throws IllegalArgumentException with the property, the value and what is allowed
     */
    static void check(NodeProperties node, ClusterProperties cluster, List<String> fabrics) {
        if (node.name() != null) {
            PropertyChecks.name("lite.node.name", node.name());
        }
        deadline("lite.node.deadline", node.deadline());
        range("lite.node.drain-timeout", node.drainTimeout(), Duration.ZERO, GRACE_MAX);
        range("lite.node.return-grace", node.returnGrace(), Duration.ZERO, GRACE_MAX);
        if (node.orphanGrace().compareTo(GRACE_MAX) > 0) {
            throw new IllegalArgumentException("lite.node.orphan-grace is %s; it must be at most %s"
                    .formatted(Durations.text(node.orphanGrace()), Durations.text(GRACE_MAX)));
        }
        arena(node.arena());
        limits(node.limits());
        spins("lite.node.spins.poll", node.spins().poll());
        spins("lite.node.spins.session", node.spins().session());
        tcp(node.tcp());
        if (fabrics.contains("tcp") && !node.tcp().isProtected()) {
            throw new StartException(
                    "the fabric tcp has neither the cluster's secret nor TLS: it would give this node's memory to everybody who can connect",
                    "Set lite.node.tcp.secret-file to a file with the secret, the same for all nodes, or lite.node.tcp.ssl-bundle.",
                    null);
        }
        rdma(node.rdma());
        socket(node);
        principals(node.principals());
        // These check the rest.
        Object unusedConfig = node.toConfig(cluster.name(), fabrics);
        Object unusedSessionConfig = node.toSessionConfig();
    }

    /** Checks the names of the fabrics. */
    static void fabrics(Environment environment, List<String> listed) {
        String one = environment.getProperty("lite.fabric");
        if (one != null && !one.equals("auto") && !FABRICS.contains(one)) {
            throw new IllegalArgumentException(
                    "lite.fabric is \"%s\"; it must be auto, shm, rdma or tcp".formatted(one));
        }
        String required = environment.getProperty("lite.fabric.require");
        if (required != null && !FABRICS.contains(required)) {
            throw new IllegalArgumentException(
                    "lite.fabric.require is \"%s\"; it must be shm, rdma or tcp".formatted(required));
        }
        if (listed.isEmpty() || !FABRICS.containsAll(listed)) {
            throw new IllegalArgumentException(
                    "lite.node.fabrics is \"%s\"; it must list one or more of shm, rdma and tcp"
                            .formatted(String.join(",", listed)));
        }
    }

    private static void arena(NodeProperties.Arena arena) {
        if (arena.size().toBytes() < ArenaConfig.BYTES_MIN) {
            throw new IllegalArgumentException("lite.node.arena.size is %s; it must be at least %dB"
                    .formatted(arena.size(), ArenaConfig.BYTES_MIN));
        }
        if (arena.extents() != 0 && arena.extents() < EXTENTS_MIN) {
            throw new IllegalArgumentException(
                    "lite.node.arena.extents is %d; it must be 0 (by the arena's size) or at least %d"
                            .formatted(arena.extents(), EXTENTS_MIN));
        }
    }

    private static void limits(NodeProperties.Limits limits) {
        positive("lite.node.limits.lmr-size", limits.lmrSize());
        positive("lite.node.limits.bytes-per-principal", limits.bytesPerPrincipal());
        range("lite.node.limits.handles-per-session", limits.handlesPerSession(), 1, HANDLES_MAX);
        range("lite.node.limits.handles", limits.handles(), 0, Integer.MAX_VALUE);
        range("lite.node.limits.nodes", limits.nodes(), 1, NODES_MAX);
        range("lite.node.limits.sessions", limits.sessions(), 1, SESSIONS_MAX);
        range("lite.node.limits.requests-per-session", limits.requestsPerSession(), 1, REQUESTS_MAX);
    }

    private static void positive(String property, @Nullable DataSize size) {
        if (size != null && size.toBytes() < 1) {
            throw new IllegalArgumentException("%s is %s; it must be at least 1B".formatted(property, size));
        }
    }

    private static void spins(String property, @Nullable Integer spins) {
        if (spins != null) {
            range(property, spins, 0, SPINS_MAX);
        }
    }

    private static void tcp(NodeProperties.Tcp tcp) {
        range("lite.node.tcp.port", tcp.port(), 0, PORT_MAX);
        range("lite.node.tcp.lanes", tcp.lanes(), 1, LANES_MAX);
        range("lite.node.tcp.peer-timeout", tcp.peerTimeout(), PEER_TIMEOUT_MIN, PEER_TIMEOUT_MAX);
        secret("lite.node.tcp.secret", tcp.secret());
        if (!PROTECTIONS.contains(tcp.protection())) {
            throw new IllegalArgumentException(
                    "lite.node.tcp.protection is \"%s\"; it must be encrypted or none".formatted(tcp.protection()));
        }
        if (tcp.bind().isBlank()) {
            throw new IllegalArgumentException(
                    "lite.node.tcp.bind is \"%s\"; it must be an address of this host".formatted(tcp.bind()));
        }
    }

    private static void rdma(NodeProperties.Rdma rdma) {
        range("lite.node.rdma.port", rdma.port(), 0, PORT_MAX);
        range("lite.node.rdma.lanes", rdma.lanes(), 1, LANES_MAX);
        range("lite.node.rdma.connections-max", rdma.connectionsMax(), 1, RDMA_CONNECTIONS_MAX);
        range("lite.node.rdma.peer-timeout", rdma.peerTimeout(), PEER_TIMEOUT_MIN, PEER_TIMEOUT_MAX);
        secret("lite.node.rdma.secret", rdma.secret());
        int depth = rdma.queueDepth();
        if (depth < QUEUE_DEPTH_MIN || depth > QUEUE_DEPTH_MAX || Integer.bitCount(depth) != 1) {
            throw new IllegalArgumentException(
                    "lite.node.rdma.queue-depth is %d; it must be a power of two from %d to %d"
                            .formatted(depth, QUEUE_DEPTH_MIN, QUEUE_DEPTH_MAX));
        }
        long window = rdma.windowSize().toBytes();
        if (window < MEBIBYTE || window > GIBIBYTE || Long.bitCount(window) != 1) {
            throw new IllegalArgumentException(
                    "lite.node.rdma.window-size is %s; it must be a power of two from 1MB to 1GB"
                            .formatted(rdma.windowSize()));
        }
    }

    private static void secret(String property, @Nullable String secret) {
        if (secret != null) {
            int bytes = secret.getBytes(StandardCharsets.UTF_8).length;
            if (bytes < SECRET_BYTES_MIN || bytes > SECRET_BYTES_MAX) {
                throw new IllegalArgumentException("%s has %d bytes; it must have %d to %d"
                        .formatted(property, bytes, SECRET_BYTES_MIN, SECRET_BYTES_MAX));
            }
        }
    }

    private static void socket(NodeProperties node) {
        Path socket = node.socket() == null ? node.runDirectory().resolve("node.sock") : node.socket();
        int bytes = socket.toAbsolutePath().toString().getBytes(StandardCharsets.UTF_8).length;
        if (bytes > SOCKET_BYTES_MAX) {
            throw new IllegalArgumentException("%s is \"%s\"; the path of the socket, %s, has %d bytes; it may have %d"
                    .formatted(
                            node.socket() == null ? "lite.node.run-directory" : "lite.node.socket",
                            node.socket() == null ? node.runDirectory() : node.socket(),
                            socket.getFileName(),
                            bytes,
                            SOCKET_BYTES_MAX));
        }
    }

    private static void principals(List<PrincipalProperties> principals) {
        for (int index = 0; index < principals.size(); index++) {
            PrincipalProperties principal = principals.get(index);
            String property = "lite.node.principals[%d]".formatted(index);
            if (principal.name() == null || principal.name().isBlank()) {
                throw new IllegalArgumentException("%s.name is blank; it must have a character".formatted(property));
            }
            if (principal.uid() != null) {
                range(property + ".uid", principal.uid(), 0, Integer.MAX_VALUE);
            }
            if (!principal.needsToken()
                    ? principal.uid() == null
                    : principal.token() != null && principal.token().isBlank()) {
                throw new IllegalArgumentException(
                        "%s (%s) has no uid and no token, or a blank token; it must have one of them"
                                .formatted(property, principal.name()));
            }
        }
    }
}
