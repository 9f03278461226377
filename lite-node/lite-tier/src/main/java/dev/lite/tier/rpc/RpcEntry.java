package dev.lite.tier.rpc;

import dev.lite.os.RawMemory;
import org.jspecify.annotations.Nullable;

/**
 * An arrived call: a place in a ring, or a slot of this node. Each place has one object, created on first use, so that
 * queues of entries allocate nothing.
 */
final class RpcEntry {
    final @Nullable RpcRing ring;
    final @Nullable RpcSlot slot;
    /** Bytes from the start of the ring. */
    final int place;

    @Nullable
    RpcEntry next; // guarded by the queue's lock

    boolean queued; // likewise

    RpcEntry(@Nullable RpcRing ring, @Nullable RpcSlot slot, int place) {
        this.ring = ring;
        this.slot = slot;
        this.place = place;
    }

    /** Whether its context and request are here and have at most so many bytes. */
    boolean isHere(long bytesMax) {
        if (ring != null) {
            long at = ring.address(place);
            return (RawMemory.getInt(at + RpcWire.PADDING_AND_FLAGS) & RpcWire.FLAG_REMOTE) == 0
                    && RawMemory.getInt(at + RpcWire.LENGTH) <= bytesMax;
        }
        return slot != null && slot.requestLength <= bytesMax;
    }

    /** Whether its caller gave the call low priority. */
    boolean isLow() {
        if (ring != null) {
            return (RawMemory.getInt(ring.address(place) + RpcWire.PADDING_AND_FLAGS) & RpcWire.FLAG_LOW) != 0;
        }
        return slot != null && slot.low;
    }
}
