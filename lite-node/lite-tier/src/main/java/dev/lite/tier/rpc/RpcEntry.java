package dev.lite.tier.rpc;

import org.jspecify.annotations.Nullable;

/**
 * A call that arrived: a place in a ring, or a slot of this very node. There is one object for each place, made when it is
 * first used, so that queues of them allocate nothing.
 */
final class RpcEntry {
    final @Nullable RpcRing ring;
    final @Nullable RpcSlot slot;
    /** Bytes from the start of the ring. */
    final int place;

    @Nullable
    RpcEntry next; // guarded by the queue's lock

    RpcEntry(@Nullable RpcRing ring, @Nullable RpcSlot slot, int place) {
        this.ring = ring;
        this.slot = slot;
        this.place = place;
    }
}
