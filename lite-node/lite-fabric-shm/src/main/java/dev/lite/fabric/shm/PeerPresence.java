package dev.lite.fabric.shm;

import org.jspecify.annotations.Nullable;

/**
 * Whether a node of another process may have this node's memory mapped: until it announces in its doorbell that it has
 * unmapped it, or its process ends. A process may outlive its node, as an application with an embedded node does.
 * Thread-safe.
 */
final class PeerPresence implements AutoCloseable {
    private final PeerProcess process;
    private @Nullable Doorbell doorbell; // guarded by this; null when the node has ended

    /** @param doorbell a mapping of the node's doorbell that becomes this object's */
    PeerPresence(PeerProcess process, Doorbell doorbell) {
        this.process = process;
        this.doorbell = doorbell;
    }

    /** Whether the node has the memory mapped, as far as is known. False for a node of this process. */
    boolean hasMapped() {
        return process.isAlive() && !hasEnded();
    }

    /** Whether the node has closed its fabric, or its process has ended. */
    synchronized boolean hasEnded() {
        Doorbell current = doorbell;
        if (current == null) {
            return true;
        }
        if (!process.isForgotten() && !current.hasLeft()) {
            return false;
        }
        close();
        return true;
    }

    /** Ends the watch. */
    @Override
    public synchronized void close() {
        Doorbell current = doorbell;
        doorbell = null;
        if (current != null) {
            current.close();
        }
    }
}
