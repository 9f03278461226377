package dev.lite.cluster;

import java.util.Map;
import java.util.regex.Pattern;

/**
 * What a node says of itself when it joins.
 *
 * @param name its stable name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}
 * @param heldId the number that its arena belongs to from an earlier run, or {@value #NO_ID}
 * @param host the host it runs on, as {@code hostname/boot id}: two nodes with the same one can share memory
 * @param arenaBytes the size of the memory it contributes
 * @param fabrics driver name → the address that a peer gives to {@code connect}
 * @param process drawn when the node's process started it: a peer that is told the same number in a connection knows which
 *     registration the connection belongs to
 */
public record NodeAdvert(
        String name, int heldId, String host, long arenaBytes, Map<String, String> fabrics, long process) {
    /** For a new arena. */
    public static final int NO_ID = -1;

    /** The process of a node that does not say which it is. */
    public static final long NO_PROCESS = 0;

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,63}");

    /** Checks and copies. */
    public NodeAdvert {
        checkName(name);
        fabrics = Map.copyOf(fabrics);
    }

    /** Of a node that does not say which process it is. */
    public NodeAdvert(String name, int heldId, String host, long arenaBytes, Map<String, String> fabrics) {
        this(name, heldId, host, arenaBytes, fabrics, NO_PROCESS);
    }

    static void checkName(String name) {
        if (!NAME.matcher(name).matches() || name.equals(".") || name.equals("..")) {
            throw new IllegalArgumentException(
                    "the node name \"%s\" is not 1 to 63 of the characters a-z A-Z 0-9 . _ -".formatted(name));
        }
    }
}
