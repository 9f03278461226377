package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricOptions;
import dev.lite.fabric.driver.ConnectionLimits;
import dev.lite.fabric.driver.LaneHandshake;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The driver's settings.
 *
 * @param device {@value #DEVICE}: the name of the device, as in {@code /sys/class/infiniband}; default: the first
 *     device with an IPv4 address
 * @param host {@value #HOST}: the IPv4 address to listen at, which peers connect to. It must belong to a network
 *     interface of the device; default: the device's first address.
 * @param port {@value #PORT}: 0 to 65535; default 0: any free port
 * @param lanes {@value #LANES}: queue pairs per peer, 1 to {@value #LANES_MAX}, default 2. The smaller number of the
 *     two sides applies.
 * @param queueDepth {@value #QUEUE_DEPTH}: maximum number of requests in flight per lane, a power of two from
 *     {@value #QUEUE_DEPTH_MIN} to {@value #QUEUE_DEPTH_LIMIT}, default 128
 * @param secret {@value #SECRET}: the shared secret of all nodes of the cluster, at least {@value #SECRET_BYTES_MIN}
 *     bytes; never sent
 * @param limits {@code connections-max}: maximum number of peers, 1 to 1024, default 48; and
 *     {@code handshake-timeout-ms}. The completion queue has room for the requests of all lanes of all peers, so
 *     {@code connections-max}, lanes and queue depth determine its length, which devices limit.
 * @param peerTimeoutMs {@value #PEER_TIMEOUT_MS}: a peer that is silent for this time, although it was probed, is
 *     disconnected; 300 to 600000 milliseconds, default 3000
 * @param windowBytes {@value #WINDOW_BYTES}: size of one memory registration, a power of two from 1 MiB to 1 GiB,
 *     default 1 GiB. Reduce it for devices that cannot register that much at once. The two sides may differ.
 */
public record RdmaOptions(
        @Nullable String device,
        @Nullable String host,
        int port,
        int lanes,
        int queueDepth,
        @Nullable String secret,
        ConnectionLimits limits,
        int peerTimeoutMs,
        int windowBytes) {
    static final String DEVICE = "device";
    static final String HOST = "host";
    static final String PORT = "port";
    static final String LANES = "lanes";
    static final String QUEUE_DEPTH = "queue-depth";
    static final String SECRET = "secret";
    static final String PEER_TIMEOUT_MS = "peer-timeout-ms";
    static final String WINDOW_BYTES = "window-bytes";

    /** Maximum number of lanes of a connection. */
    static final int LANES_MAX = 4;

    static final int QUEUE_DEPTH_MIN = 64;
    static final int QUEUE_DEPTH_LIMIT = 4096;
    static final int SECRET_BYTES_MIN = 16;

    private static final Set<String> NAMES = Set.of(
            DEVICE,
            HOST,
            PORT,
            LANES,
            QUEUE_DEPTH,
            SECRET,
            ConnectionLimits.CONNECTIONS_MAX,
            ConnectionLimits.HANDSHAKE_TIMEOUT_MS,
            PEER_TIMEOUT_MS,
            WINDOW_BYTES);
    private static final int PORT_LIMIT = 65_535;
    private static final int CONNECTIONS_LIMIT = 1024;
    private static final int CONNECTIONS_DEFAULT = 48;
    private static final int PEER_TIMEOUT_MS_MIN = 300;
    private static final int PEER_TIMEOUT_MS_LIMIT = 600_000;

    /** Checks the ranges. */
    public RdmaOptions {
        FabricOptions.requireRange(PORT, port, 0, PORT_LIMIT);
        FabricOptions.requireRange(LANES, lanes, 1, LANES_MAX);
        FabricOptions.requireRange(QUEUE_DEPTH, queueDepth, QUEUE_DEPTH_MIN, QUEUE_DEPTH_LIMIT);
        requirePowerOfTwo(QUEUE_DEPTH, queueDepth);
        FabricOptions.requireRange(PEER_TIMEOUT_MS, peerTimeoutMs, PEER_TIMEOUT_MS_MIN, PEER_TIMEOUT_MS_LIMIT);
        FabricOptions.requireRange(WINDOW_BYTES, windowBytes, 1 << Windows.SHIFT_MIN, 1 << Windows.SHIFT_MAX);
        requirePowerOfTwo(WINDOW_BYTES, windowBytes);
        if (secret != null) {
            LaneHandshake.requireSecret(SECRET, secret);
        }
    }

    private static void requirePowerOfTwo(String name, int value) {
        if (Integer.bitCount(value) != 1) {
            throw new IllegalArgumentException("%s must be a power of two, not %d".formatted(name, value));
        }
    }

    /**
     * Reads the options of a fabric.
     *
     * @throws IllegalArgumentException if an option is unknown, not a number or out of range
     */
    static RdmaOptions of(Map<String, String> options) {
        var given = FabricOptions.of("RDMA", options, NAMES);
        return new RdmaOptions(
                given.text(DEVICE),
                given.text(HOST),
                given.number(PORT, 0),
                given.number(LANES, 2),
                given.number(QUEUE_DEPTH, 128),
                given.text(SECRET),
                ConnectionLimits.of(given, CONNECTIONS_DEFAULT, CONNECTIONS_LIMIT),
                given.number(PEER_TIMEOUT_MS, 3_000),
                given.number(WINDOW_BYTES, 1 << Windows.SHIFT_MAX));
    }

    /** The division of the memory into registrations. */
    Windows windows() {
        return new Windows(Integer.numberOfTrailingZeros(windowBytes));
    }

    /**
     * Length of the completion queue. It has room for all completions that can be outstanding: of each lane's sends, of
     * the handshakes' receives, and of the first lanes' receives.
     */
    int completionEntries() {
        int perLane = queueDepth + RdmaLane.HANDSHAKE_RECEIVES;
        int perConnection = lanes * perLane + Mailbox.RECEIVES;
        return limits.connectionsMax() * perConnection
                + RdmaConnector.UNAUTHENTICATED_MAX * 2 * RdmaLane.HANDSHAKE_RECEIVES;
    }

    @Override
    public String toString() {
        return "RdmaOptions[device=%s, host=%s, port=%d, lanes=%d, queueDepth=%d, secret=%s]"
                .formatted(device, host, port, lanes, queueDepth, secret == null ? "none" : "given");
    }
}
