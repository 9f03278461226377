package dev.lite.cluster;

import java.util.Map;
import java.util.regex.Pattern;

/**
 * The description of itself that a node registers.
 *
 * @param name its stable name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}
 * @param heldId the id that its arena has from an earlier run, or {@value #NO_ID}
 * @param host the host it runs on, as {@code hostname/boot id}: two nodes with the same value can share memory
 * @param arenaBytes the size of its arena in bytes
 * @param fabrics driver name → the address that a peer gives to {@code connect}
 * @param process a random number chosen at process start; a peer that receives it in a handshake knows which registration
 *     the connection belongs to
 * @param key the node's public Ed25519 key in base 64, by which peers on other hosts recognize it; empty for none
 * @param arenaVolatile whether its arena ends with its process, also if that is killed, as that of an embedded node does
 */
public record NodeAdvert(
        String name,
        int heldId,
        String host,
        long arenaBytes,
        Map<String, String> fabrics,
        long process,
        String key,
        boolean arenaVolatile) {
    /** The value of {@code heldId} for a new arena. */
    public static final int NO_ID = -1;

    /** The value of {@code process} when it is unknown. */
    public static final long NO_PROCESS = 0;

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,63}");

    /** Validates and makes defensive copies. */
    public NodeAdvert {
        checkName(name);
        fabrics = Map.copyOf(fabrics);
    }

    /** Leaves {@code process} unknown. */
    public NodeAdvert(String name, int heldId, String host, long arenaBytes, Map<String, String> fabrics) {
        this(name, heldId, host, arenaBytes, fabrics, NO_PROCESS);
    }

    /** Without a key, and with an arena that outlives a crash. */
    public NodeAdvert(
            String name, int heldId, String host, long arenaBytes, Map<String, String> fabrics, long process) {
        this(name, heldId, host, arenaBytes, fabrics, process, "", false);
    }

    static void checkName(String name) {
        if (!NAME.matcher(name).matches() || name.equals(".") || name.equals("..")) {
            throw new IllegalArgumentException(
                    "the node name \"%s\" is not 1 to 63 of the characters a-z A-Z 0-9 . _ -".formatted(name));
        }
    }
}
