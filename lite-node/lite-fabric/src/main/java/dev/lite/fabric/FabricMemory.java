package dev.lite.fabric;

import java.lang.foreign.MemorySegment;

/**
 * Memory that a node offers to its peers.
 *
 * @param segment native memory, valid until the fabric that it is registered with is closed
 * @param descriptor the descriptor of the file that the memory maps shared from the file's first byte on, or
 *     {@value #NO_DESCRIPTOR}; the caller keeps ownership of the descriptor
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
