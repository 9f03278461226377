package dev.lite.fabric;

import java.lang.foreign.MemorySegment;

/**
 * A memory that a node offers to its peers.
 *
 * @param segment native memory, valid until the fabric that it is registered with is closed
 * @param descriptor the file descriptor that the memory is a shared mapping of, from its first byte on, or
 *     {@value #NO_DESCRIPTOR}; the descriptor stays the caller's
 */
public record FabricMemory(MemorySegment segment, int descriptor) {
    /** For memory without a file. */
    public static final int NO_DESCRIPTOR = -1;

    /** Checks that the memory is native. */
    public FabricMemory {
        if (!segment.isNative()) {
            throw new IllegalArgumentException("a fabric needs native memory; this segment is on the heap");
        }
    }
}
