package dev.lite.tier.memory;

import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * The configuration of an arena.
 *
 * @param root the directory of all arenas, on a memory file system, such as {@code /dev/shm/lite}
 * @param cluster the cluster's name, a directory below {@code root}; 1 to 63 of {@code a-z A-Z 0-9 . _ -}
 * @param node the node's name, a directory below that; same characters and length
 * @param bytes the arena's size, at least {@link #BYTES_MIN}, rounded up to pages
 * @param extentsMax the maximum number of extents that are allocated or await cleaning
 * @param peersMax the maximum number of nodes with a control area here; node ids must be below it
 * @param kept when the memory outlives the process
 */
public record ArenaConfig(Path root, String cluster, String node, long bytes, int extentsMax, int peersMax, Kept kept) {
    /** When an arena outlives the process of its node. */
    public enum Kept {
        /** Always: the next process of the node adopts it. */
        ALWAYS,
        /** After a crash; a clean shutdown deletes it. */
        AFTER_CRASH,
        /** Never, however the process ends: the arena has no name in the file system. Peers get its descriptor. */
        NEVER
    }

    /** The minimum size of an arena. */
    public static final long BYTES_MIN = 4L << 20;

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,63}");

    /** Checks the values. */
    public ArenaConfig {
        checkName("cluster", cluster);
        checkName("node", node);
        if (bytes < BYTES_MIN) {
            throw new IllegalArgumentException(
                    "the arena size is %d bytes; at least %d are needed".formatted(bytes, BYTES_MIN));
        }
        if (extentsMax < 64) {
            throw new IllegalArgumentException(
                    "the arena has %d extents; at least 64 are needed".formatted(extentsMax));
        }
        if (peersMax < 1 || peersMax > 1024) {
            throw new IllegalArgumentException("the arena serves %d nodes; it can serve 1 to 1024".formatted(peersMax));
        }
    }

    /** Checks a name, because it becomes a directory. */
    private static void checkName(String what, String name) {
        if (!NAME.matcher(name).matches() || name.equals(".") || name.equals("..")) {
            throw new IllegalArgumentException(
                    "the %s name \"%s\" is not 1 to 63 of the characters a-z A-Z 0-9 . _ -".formatted(what, name));
        }
    }

    /** One extent for every 4 KiB of the arena, but at least 4,096 and at most 4 Mi. */
    public static int extentsMaxDefault(long bytes) {
        return Math.clamp(bytes / 4096, 4096, 4 << 20);
    }

    /** The directory that holds the arena and its lock. */
    public Path directory() {
        return root.resolve(cluster).resolve(node);
    }
}
