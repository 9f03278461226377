package dev.lite.fabric.shm;

import dev.lite.fabric.FabricOptions;
import dev.lite.fabric.driver.ConnectionLimits;
import java.util.Map;
import java.util.Set;

/**
 * The driver's settings.
 *
 * @param ringEntries {@value #RING_ENTRIES}: maximum number of immediates to one peer that it has not received yet; a power of
 *     two, 2 to 65536, default 1024. Each direction of a connection takes 128 bytes per entry.
 * @param limits {@code connections-max}: maximum number of connections, 1 to 4096, default 256; each has a thread that waits for
 *     its end; and {@code handshake-timeout-ms}
 */
public record ShmOptions(int ringEntries, ConnectionLimits limits) {
    static final String RING_ENTRIES = "ring-entries";

    private static final Set<String> NAMES =
            Set.of(RING_ENTRIES, ConnectionLimits.CONNECTIONS_MAX, ConnectionLimits.HANDSHAKE_TIMEOUT_MS);
    static final int RING_ENTRIES_LIMIT = 1 << 16;
    private static final int CONNECTIONS_LIMIT = 4096;
    private static final int CONNECTIONS_DEFAULT = 256;

    /** Checks the ranges. */
    public ShmOptions {
        FabricOptions.requireRange(RING_ENTRIES, ringEntries, 2, RING_ENTRIES_LIMIT);
        if (Integer.bitCount(ringEntries) != 1) {
            throw new IllegalArgumentException(
                    "%s must be a power of two, not %d".formatted(RING_ENTRIES, ringEntries));
        }
    }

    /**
     * Reads the options of a fabric.
     *
     * @throws IllegalArgumentException if one is unknown, not a number or out of range
     */
    static ShmOptions of(Map<String, String> options) {
        var given = FabricOptions.of("shared-memory", options, NAMES);
        return new ShmOptions(
                given.number(RING_ENTRIES, 1024), ConnectionLimits.of(given, CONNECTIONS_DEFAULT, CONNECTIONS_LIMIT));
    }
}
