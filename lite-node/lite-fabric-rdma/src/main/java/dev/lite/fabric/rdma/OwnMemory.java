package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricException;
import java.lang.foreign.MemorySegment;

/**
 * This node's registered memory: windows of {@value #WINDOW_BYTES} bytes, since DiSNI gives the length of a registration as an
 * {@code int}. As many registrations as windows, whatever lies in them.
 */
final class OwnMemory implements AutoCloseable {
    static final int WINDOW_SHIFT = 30;
    static final long WINDOW_BYTES = 1L << WINDOW_SHIFT;
    /** A tebibyte: the keys must fit into one message. */
    static final int WINDOWS_MAX = 1024;

    private final Verbs verbs;
    private final long address;
    private final long bytes;
    private final Verbs.Region[] regions;

    private OwnMemory(Verbs verbs, MemorySegment segment) {
        this.verbs = verbs;
        address = segment.address();
        bytes = segment.byteSize();
        regions = new Verbs.Region[(int) windows(bytes)];
    }

    /** How many windows a memory of this size has. */
    static long windows(long bytes) {
        return (bytes + WINDOW_BYTES - 1) >>> WINDOW_SHIFT;
    }

    /**
     * Registers and pins all of it; this takes a second for every few gigabytes.
     *
     * @throws FabricException when it is too large, or the system does not pin as much
     */
    static OwnMemory register(Verbs verbs, long domain, MemorySegment segment) {
        if (windows(segment.byteSize()) > WINDOWS_MAX) {
            throw new FabricException(
                    "the RDMA fabric registers at most %d bytes of memory, not %d"
                            .formatted(WINDOWS_MAX * WINDOW_BYTES, segment.byteSize()),
                    null);
        }
        var memory = new OwnMemory(verbs, segment);
        try {
            for (int i = 0; i < memory.regions.length; i++) {
                long start = (long) i << WINDOW_SHIFT;
                int length = (int) Math.min(WINDOW_BYTES, memory.bytes - start);
                memory.regions[i] = verbs.register(domain, memory.address + start, length, true);
            }
        } catch (VerbsException e) {
            memory.close();
            throw new FabricException(
                    "the %d bytes of memory cannot be registered: %s (%s)"
                            .formatted(memory.bytes, e.getMessage(), MemoryLock.describe()),
                    e);
        }
        return memory;
    }

    long address() {
        return address;
    }

    long bytes() {
        return bytes;
    }

    /** What peers need, each of them with a credit word of its own. */
    RemoteMemory describe(long creditAddress, int creditKey) {
        int[] keys = new int[regions.length];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = regions[i].remoteKey();
        }
        return new RemoteMemory(address, bytes, keys, creditAddress, creditKey);
    }

    /** Whether an aligned 64-bit word lies in it. */
    boolean hasWord(long offset) {
        return offset >= 0 && offset <= bytes - Long.BYTES && (offset & (Long.BYTES - 1)) == 0;
    }

    /** Checks that local memory of a post lies in it; nothing else is known to the device. */
    void checkLocal(long local, long length) {
        long offset = local - address;
        if (offset < 0 || offset > bytes - length) {
            throw new IllegalArgumentException(
                    "the local memory of a post, %d bytes at 0x%x, must lie in the registered memory, %d bytes at 0x%x"
                            .formatted(length, local, bytes, address));
        }
    }

    /** The key for an address that {@link #checkLocal} allowed. */
    int localKey(long local) {
        return regions[(int) ((local - address) >>> WINDOW_SHIFT)].localKey();
    }

    /** How much of a transfer lies in one window of this memory and in one of the peer's, in bytes. */
    long piece(long offset, long local, long length) {
        return pieceOf(offset, local - address, length);
    }

    /** The same, with both places as offsets in their memories. */
    static long pieceOf(long offset, long localOffset, long length) {
        long left = Math.min(leftInWindow(offset), leftInWindow(localOffset));
        return Math.min(length, left);
    }

    private static long leftInWindow(long offset) {
        return WINDOW_BYTES - (offset & (WINDOW_BYTES - 1));
    }

    /** Gives the registrations up; no queue pair uses them any more. */
    @Override
    public void close() {
        for (var region : regions) {
            if (region != null) {
                verbs.deregister(region);
            }
        }
    }
}
