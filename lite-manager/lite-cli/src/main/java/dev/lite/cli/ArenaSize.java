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
}
