package dev.lite.fabric.shm;

import dev.lite.fabric.FabricOptions;
import java.util.Map;
import java.util.Set;

/**
 * The driver's settings.
 *
 * @param ringEntries {@value #RING_ENTRIES}: how many immediates to one peer may be under way; a power of two, 2 to 65536,
 *     1024 unless set. Each direction of a connection takes 128 bytes per entry.
 * @param connectionsMax {@value #CONNECTIONS_MAX}: how many connections there may be at a time, 1 to 4096, 256 unless set.
 *     Each has a thread that waits for its end.
 * @param handshakeTimeoutMs {@value #HANDSHAKE_TIMEOUT_MS}: how long a peer may take to answer when a connection is made, 1 to
 *     60000 milliseconds, 5000 unless set
 */
public record ShmOptions(int ringEntries, int connectionsMax, int handshakeTimeoutMs) {
    static final String RING_ENTRIES = "ring-entries";
    static final String CONNECTIONS_MAX = "connections-max";
    static final String HANDSHAKE_TIMEOUT_MS = "handshake-timeout-ms";

    private static final Set<String> NAMES = Set.of(RING_ENTRIES, CONNECTIONS_MAX, HANDSHAKE_TIMEOUT_MS);
    static final int RING_ENTRIES_LIMIT = 1 << 16;
    private static final int CONNECTIONS_LIMIT = 4096;
    private static final int HANDSHAKE_TIMEOUT_MS_LIMIT = 60_000;

    /** Checks the ranges. */
    public ShmOptions {
        FabricOptions.requireRange(RING_ENTRIES, ringEntries, 2, RING_ENTRIES_LIMIT);
        FabricOptions.requireRange(CONNECTIONS_MAX, connectionsMax, 1, CONNECTIONS_LIMIT);
        FabricOptions.requireRange(HANDSHAKE_TIMEOUT_MS, handshakeTimeoutMs, 1, HANDSHAKE_TIMEOUT_MS_LIMIT);
        if (Integer.bitCount(ringEntries) != 1) {
            throw new IllegalArgumentException(
                    "%s must be a power of two, not %d".formatted(RING_ENTRIES, ringEntries));
        }
    }

    /**
     * From a fabric's options.
     *
     * @throws IllegalArgumentException when one is unknown, not a number or out of its range
     */
    static ShmOptions of(Map<String, String> options) {
        var given = FabricOptions.of("shared-memory", options, NAMES);
        return new ShmOptions(
                given.number(RING_ENTRIES, 1024),
                given.number(CONNECTIONS_MAX, 256),
                given.number(HANDSHAKE_TIMEOUT_MS, 5_000));
    }
}
