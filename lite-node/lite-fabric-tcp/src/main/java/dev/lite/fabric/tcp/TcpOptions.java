package dev.lite.fabric.tcp;

import dev.lite.fabric.FabricOptions;
import dev.lite.fabric.driver.ConnectionLimits;
import dev.lite.fabric.driver.LaneHandshake;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The driver's settings. The protocol fixes the sizes of queues.
 *
 * @param bind {@value #BIND}: the address to listen on, a name or a literal, IPv4 or IPv6; default 127.0.0.1
 * @param port {@value #PORT}: 0 to 65535; default 0: any free port
 * @param advertisedHost {@value #ADVERTISED_HOST}: the host that peers connect to, instead of the listening address;
 *     needed
 *     if that is the wildcard address
 * @param lanes {@value #LANES}: TCP connections per peer, 1 to {@value #LANES_MAX}, default 2. The smaller number of
 *     the two
 *     sides applies.
 * @param secret {@value #SECRET}: the shared secret of all nodes of the cluster, at least {@value #SECRET_BYTES_MIN}
 *     bytes;
 *     never sent. Needed on every address, unless there is TLS.
 * @param encrypted {@value #PROTECTION}: {@value #ENCRYPTED} (default) encrypts and authenticates every byte with keys of
 *     the handshake; {@value #PLAIN} does not, unless the peer asks for it. With TLS it has no effect.
 * @param verifyNames {@value #VERIFY_NAMES}: whether the certificate of a peer must have the name of its node; default true
 * @param channels {@value #CHANNELS}: whether attached applications get channels to other hosts, {@code true} (default) or
 *     {@code false}: their calls pass the nodes
 * @param limits {@code connections-max}: maximum number of peers, 1 to 4096, default 256; and
 *     {@code handshake-timeout-ms}
 * @param peerTimeoutMs {@value #PEER_TIMEOUT_MS}: a peer that is silent for this time, although it was pinged, is
 *     disconnected; 300 to 600000 milliseconds, default 15000
 */
public record TcpOptions(
        InetAddress bind,
        int port,
        @Nullable String advertisedHost,
        int lanes,
        @Nullable String secret,
        boolean encrypted,
        boolean verifyNames,
        boolean channels,
        ConnectionLimits limits,
        int peerTimeoutMs) {
    static final String BIND = "bind";
    static final String PORT = "port";
    static final String ADVERTISED_HOST = "advertised-host";
    static final String LANES = "lanes";
    static final String SECRET = "secret";
    static final String PROTECTION = "protection";
    static final String VERIFY_NAMES = "verify-names";
    static final String CHANNELS = "channels";
    static final String ENCRYPTED = "encrypted";
    static final String PLAIN = "none";
    static final String PEER_TIMEOUT_MS = "peer-timeout-ms";

    /** Maximum number of lanes of a connection. */
    static final int LANES_MAX = 4;

    static final int SECRET_BYTES_MIN = 16;

    private static final Set<String> NAMES = Set.of(
            BIND,
            PORT,
            ADVERTISED_HOST,
            LANES,
            SECRET,
            PROTECTION,
            VERIFY_NAMES,
            CHANNELS,
            ConnectionLimits.CONNECTIONS_MAX,
            ConnectionLimits.HANDSHAKE_TIMEOUT_MS,
            PEER_TIMEOUT_MS);
    private static final int PORT_LIMIT = 65_535;
    private static final int CONNECTIONS_LIMIT = 4096;
    private static final int CONNECTIONS_DEFAULT = 256;
    private static final int PEER_TIMEOUT_MS_MIN = 300;
    private static final int PEER_TIMEOUT_MS_LIMIT = 600_000;

    /** Checks the ranges. */
    public TcpOptions {
        FabricOptions.requireRange(PORT, port, 0, PORT_LIMIT);
        FabricOptions.requireRange(LANES, lanes, 1, LANES_MAX);
        FabricOptions.requireRange(PEER_TIMEOUT_MS, peerTimeoutMs, PEER_TIMEOUT_MS_MIN, PEER_TIMEOUT_MS_LIMIT);
        if (secret != null) {
            LaneHandshake.requireSecret(SECRET, secret);
        }
        if (bind.isAnyLocalAddress() && advertisedHost == null) {
            throw new IllegalArgumentException(
                    "%s is %s, which peers cannot connect to: set %s to a name or address of this host"
                            .formatted(BIND, bind.getHostAddress(), ADVERTISED_HOST));
        }
    }

    /**
     * Reads a fabric's options.
     *
     * @throws IllegalArgumentException if an option is unknown, not a number, out of range or not a valid address
     */
    static TcpOptions of(Map<String, String> options) {
        var given = FabricOptions.of("TCP", options, NAMES);
        return new TcpOptions(
                address(given.text(BIND, "127.0.0.1")),
                given.number(PORT, 0),
                given.text(ADVERTISED_HOST),
                given.number(LANES, 2),
                given.text(SECRET),
                encrypted(given.text(PROTECTION, ENCRYPTED)),
                !given.text(VERIFY_NAMES, "true").equals("false"),
                flag(CHANNELS, given.text(CHANNELS, "true")),
                ConnectionLimits.of(given, CONNECTIONS_DEFAULT, CONNECTIONS_LIMIT),
                given.number(PEER_TIMEOUT_MS, 15_000));
    }

    private static boolean encrypted(String protection) {
        return switch (protection) {
            case ENCRYPTED -> true;
            case PLAIN -> false;
            default ->
                throw new IllegalArgumentException(
                        "%s is '%s'; it must be %s or %s".formatted(PROTECTION, protection, ENCRYPTED, PLAIN));
        };
    }

    private static boolean flag(String name, String text) {
        return switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException("%s is '%s'; it must be true or false".formatted(name, text));
        };
    }

    private static InetAddress address(String text) {
        try {
            if (text.isBlank()) {
                throw new UnknownHostException("it is empty");
            }
            return InetAddress.getByName(text);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(
                    "%s is '%s', which is not a valid address: %s".formatted(BIND, text, e.getMessage()), e);
        }
    }

    @Override
    public String toString() {
        return "TcpOptions[bind=%s, port=%d, advertisedHost=%s, lanes=%d, secret=%s]"
                .formatted(bind.getHostAddress(), port, advertisedHost, lanes, secret == null ? "none" : "given");
    }
}
