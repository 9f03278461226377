package dev.lite.tier.peer;

import dev.lite.fabric.FabricError;

/** Told on the thread that polls; must neither block nor throw. */
public interface PeerListener {

    /** A node is connected, for the first time or again. */
    default void peerConnected(Peer peer) {}

    /** A connection is gone; the last call for this {@code Peer} object. */
    default void peerDisconnected(Peer peer, String reason) {}

    /** Whether immediates of a kind, their upper four bits, are this listener's; no two listeners take one kind. */
    default boolean takes(int kind) {
        return false;
    }

    /** A peer's write-with-immediate arrived, of a kind that this listener {@linkplain #takes takes}. */
    default void immediateArrived(Peer peer, int immediate) {}

    /** An accepted post is done ({@code error} null) or failed. */
    default void postEnded(long context, @org.jspecify.annotations.Nullable FabricError error) {}
}
