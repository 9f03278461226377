package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricException;
import dev.lite.fabric.rdma.verbs.MemoryLock;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import java.lang.foreign.MemorySegment;

/** This node's registered memory, with one registration per window (see {@link Windows}). */
final class OwnMemory implements AutoCloseable {
    private final Verbs verbs;
    private final Windows windows;
    private final long address;
    private final long bytes;
    private final Verbs.Region[] regions;

    private OwnMemory(Verbs verbs, MemorySegment segment, Windows windows) {
        this.verbs = verbs;
        this.windows = windows;
        address = segment.address();
        bytes = segment.byteSize();
        regions = new Verbs.Region[(int) windows.count(bytes)];
    }

    /**
     * Registers and pins the whole memory, which takes about a second for every few gigabytes.
     *
     * @throws FabricException if the memory is too large, or if the system refuses to pin it
     */
    static OwnMemory register(Verbs verbs, long domain, MemorySegment segment, Windows windows) {
        if (windows.count(segment.byteSize()) > Windows.COUNT_MAX) {
            throw new FabricException(
                    "the RDMA fabric registers at most %d bytes of memory in windows of %d (%s), not %d"
                            .formatted(
                                    Windows.COUNT_MAX * windows.bytes(),
                                    windows.bytes(),
                                    RdmaOptions.WINDOW_BYTES,
                                    segment.byteSize()),
                    null);
        }
        var memory = new OwnMemory(verbs, segment, windows);
        try {
            for (int i = 0; i < memory.regions.length; i++) {
                long start = windows.start(i);
                int length = (int) Math.min(windows.bytes(), memory.bytes - start);
                memory.regions[i] = verbs.register(domain, memory.address + start, length, true);
            }
        } catch (VerbsException e) {
            memory.close();
            throw new FabricException(
                    "the %d bytes of memory cannot be registered: %s (%s)"
                            .formatted(memory.bytes, e.getMessage(), MemoryLock.describe()),
                    e);
        } catch (RuntimeException | Error e) { // also without memory
            memory.close();
            throw e;
        }
        return memory;
    }

    long address() {
        return address;
    }

    long bytes() {
        return bytes;
    }

    /** The data that a peer needs to access this memory. Each peer has a credit word of its own. */
    PeerMemory describe(long creditAddress, int creditKey) {
        int[] keys = new int[regions.length];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = regions[i].remoteKey();
        }
        return new PeerMemory(address, bytes, windows, keys, creditAddress, creditKey);
    }

    /** Whether the offset is that of an aligned 64-bit word in this memory. */
    boolean hasWord(long offset) {
        return offset >= 0 && offset <= bytes - Long.BYTES && (offset & (Long.BYTES - 1)) == 0;
    }

    /** Checks that the local range of a post lies in this memory; the device can access no other memory. */
    void checkLocal(long local, long length) {
        long offset = local - address;
        if (offset < 0 || offset > bytes - length) {
            throw new IllegalArgumentException(
                    "the local memory of a post, %d bytes at 0x%x, must lie in the registered memory, %d bytes at 0x%x"
                            .formatted(length, local, bytes, address));
        }
    }

    /** The local key for an address that {@link #checkLocal} accepted. */
    int localKey(long local) {
        return regions[windows.of(local - address)].localKey();
    }

    /** Length of the next piece of a transfer, in bytes: it must not cross a window border of either memory. */
    long piece(PeerMemory peer, long offset, long local, long length) {
        return pieceOf(windows, local - address, peer.windows(), offset, length);
    }

    /** As {@link #piece}, with both positions as offsets into their memories. */
    static long pieceOf(Windows own, long localOffset, Windows peers, long offset, long length) {
        return Math.min(length, Math.min(own.left(localOffset), peers.left(offset)));
    }

    /**
     * Releases the registrations. Call when no queue pair uses them any more.
     *
     * @throws VerbsException for the first one that the device does not release; the others are released
     */
    @Override
    public void close() {
        VerbsException first = null;
        for (var region : regions) {
            try {
                if (region != null) {
                    verbs.deregister(region);
                }
            } catch (VerbsException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
