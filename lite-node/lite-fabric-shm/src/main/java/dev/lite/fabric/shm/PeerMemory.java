package dev.lite.fabric.shm;

import dev.lite.fabric.AddressRange;
import dev.lite.fabric.driver.HandshakeException;
import dev.lite.os.SharedMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A memory of a peer that is mapped into this process, or this node's own. Thread-safe. */
final class PeerMemory {
    private final AddressRange range;
    private final @Nullable SharedMemory mapping; // null: this node's own memory, which is mapped elsewhere

    // All guarded by this.
    private @Nullable PeerPresence owner; // the last node that offered it; null before the first connection
    private int links;
    private boolean lost;

    private PeerMemory(AddressRange range, @Nullable SharedMemory mapping) {
        this.range = range;
        this.mapping = mapping;
    }

    static PeerMemory own(long address, long bytes) {
        return new PeerMemory(new AddressRange(address, bytes), null);
    }

    /** Takes over the mapping. */
    static PeerMemory of(SharedMemory mapping) {
        return new PeerMemory(new AddressRange(mapping.address(), mapping.size()), mapping);
    }

    AddressRange range() {
        return range;
    }

    /**
     * A connection that uses it is being made.
     *
     * @throws HandshakeException if it is lost
     */
    synchronized void link() {
        if (lost) {
            throw new HandshakeException("this memory is that of a node that has ended");
        }
        links++;
    }

    /** The connection is made; the node at its other end has offered this. */
    synchronized void offeredBy(PeerPresence node) {
        owner = node;
    }

    /** A connection ends, or is not made. */
    synchronized void unlink() {
        links--;
    }

    /** Whether no connection uses it or has ever used it. */
    synchronized boolean isOfNobody() {
        return mapping != null && owner == null && links == 0;
    }

    /** See {@link dev.lite.fabric.Fabric#lostMemories}. Never false again. */
    synchronized boolean isLost() {
        SharedMemory mapped = mapping;
        PeerPresence last = owner;
        if (!lost && mapped != null && last != null && links == 0) {
            lost = last.hasEnded() && !hasName(mapped);
        }
        return lost;
    }

    private static boolean hasName(SharedMemory memory) {
        try {
            Object links = Files.getAttribute(Path.of("/proc/self/fd/" + memory.descriptor()), "unix:nlink");
            return !(links instanceof Integer number) || number != 0;
        } catch (IOException | UnsupportedOperationException e) {
            return true; // it may have one
        }
    }

    /** Unmaps it. */
    void close() {
        if (mapping != null) {
            mapping.close();
        }
    }
}
