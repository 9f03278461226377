package dev.lite.fabric.driver;

import dev.lite.fabric.FabricOptions;

/**
 * The settings of {@link Connections}, which all drivers have.
 *
 * @param connectionsMax {@value #CONNECTIONS_MAX}: maximum number of connections, at least 1; each driver has its own limit and default
 * @param handshakeTimeoutMs {@value #HANDSHAKE_TIMEOUT_MS}: time limit for making a connection, 1 to 60000 milliseconds, default 5000
 */
public record ConnectionLimits(int connectionsMax, int handshakeTimeoutMs) {
    /** The name of an option. */
    public static final String CONNECTIONS_MAX = "connections-max";

    /** The name of an option. */
    public static final String HANDSHAKE_TIMEOUT_MS = "handshake-timeout-ms";

    private static final int HANDSHAKE_TIMEOUT_MS_DEFAULT = 5_000;
    private static final int HANDSHAKE_TIMEOUT_MS_LIMIT = 60_000;

    /**
     * Reads the limits from a fabric's options.
     *
     * @param connectionsLimit upper limit of {@link #CONNECTIONS_MAX}
     * @throws IllegalArgumentException if one is not a number or out of range
     */
    public static ConnectionLimits of(FabricOptions options, int connectionsDefault, int connectionsLimit) {
        int connectionsMax = options.number(CONNECTIONS_MAX, connectionsDefault);
        int handshakeTimeoutMs = options.number(HANDSHAKE_TIMEOUT_MS, HANDSHAKE_TIMEOUT_MS_DEFAULT);
        FabricOptions.requireRange(CONNECTIONS_MAX, connectionsMax, 1, connectionsLimit);
        FabricOptions.requireRange(HANDSHAKE_TIMEOUT_MS, handshakeTimeoutMs, 1, HANDSHAKE_TIMEOUT_MS_LIMIT);
        return new ConnectionLimits(connectionsMax, handshakeTimeoutMs);
    }
}
