package dev.lite.cli;

import dev.lite.local.FreeMemory;

/** The memory of each node of a cluster on this machine. */
final class ArenaSize {
    private static final long MIB = 1L << 20;
    private static final long WANTED = 256 * MIB;
    private static final long MIN = 16 * MIB;

    private ArenaSize() {}

    /** The size in bytes of {@code 64MB}, for example. */
    static long parse(String size) {
        return ByteSizes.parse("--arena", size);
    }

    /** 256 MiB, or less so that all nodes together take at most half of the free memory. */
    static long fitting(int nodes) {
        FreeMemory free = FreeMemory.now();
        return fitting(nodes, Math.min(free.sharedBytes(), free.availableBytes()));
    }

    static long fitting(int nodes, long freeBytes) {
        long share = freeBytes / 2 / Math.max(1, nodes) / MIB * MIB;
        return Math.max(MIN, Math.min(WANTED, share));
    }

    /**
     * Checks that the nodes have room for their arenas.
     *
     * @param size the size of one, for messages
     * @throws IllegalArgumentException when they have not
     */
    static void requireRoom(String size, long bytes, int nodes) {
        requireRoom(size, bytes, nodes, FreeMemory.now().sharedBytes());
    }

    static void requireRoom(String size, long bytes, int nodes, long freeBytes) {
        long max = freeBytes / nodes;
        if (bytes > max) {
            throw new IllegalArgumentException("--arena is %s; with %d node%s it must be at most %dMB: %s has %dMB free"
                    .formatted(
                            size, nodes, nodes == 1 ? "" : "s", max / MIB, FreeMemory.SHARED_MEMORY, freeBytes / MIB));
        }
    }
}
