package dev.lite.demo;

import dev.lite.local.FreeMemory;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** Computes the arena size that a file needs, and checks that this machine has enough memory. */
final class ArenaSpace {

    private static final long MIB = 1L << 20;
    /** Chunks are distributed round robin, so one node may get one more than another. */
    private static final long CHUNK_BYTES = 4 * MIB;
    /** Space for the measuring LMR, the control LMR, the allocator's tables, and a reserve. */
    private static final long SLACK_BYTES = 24 * MIB;
    /** Memory of the manager, the nodes, the applications and this launcher, without the arenas. */
    private static final long PROCESSES_BYTES = 1200 * MIB;

    private ArenaSpace() {}

    /** The arena that each of {@code nodes} nodes needs, in bytes. */
    static long arenaBytes(long fileBytes, int nodes) {
        long share = Math.ceilDiv(fileBytes, nodes);
        long bytes = Math.addExact(share, share / 64 + CHUNK_BYTES + SLACK_BYTES);
        return Math.ceilDiv(bytes, 2 * MIB) * 2 * MIB;
    }

    /** Checks the machine's free memory. */
    static void check(Path file, long arenasBytes) {
        try {
            FreeMemory free = FreeMemory.now();
            check(file, arenasBytes, free.sharedBytes(), free.availableBytes());
        } catch (UncheckedIOException e) {
            throw new DemoFailedException(String.valueOf(e.getMessage()), e);
        }
    }

    static void check(Path file, long arenasBytes, long sharedMemoryFree, long memoryAvailable) {
        if (arenasBytes > sharedMemoryFree) {
            throw new DemoFailedException(
                    "the nodes need %s in %s for the file %s; only %s are free. Use a smaller file, or enlarge the file system: mount -o remount,size=%dM %s"
                            .formatted(
                                    Sizes.of(arenasBytes),
                                    FreeMemory.SHARED_MEMORY,
                                    file,
                                    Sizes.of(sharedMemoryFree),
                                    Math.ceilDiv(arenasBytes, MIB) * 5 / 4,
                                    FreeMemory.SHARED_MEMORY));
        }
        if (arenasBytes + PROCESSES_BYTES > memoryAvailable) {
            throw new DemoFailedException(
                    "the demo needs %s of memory for the file %s, its nodes and its applications; only %s are available"
                            .formatted(Sizes.of(arenasBytes + PROCESSES_BYTES), file, Sizes.of(memoryAvailable)));
        }
    }
}
