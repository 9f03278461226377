package dev.lite.tier.peer;

import dev.lite.fabric.FabricError;

/** Told on the thread that polls; must neither block nor throw. */
public interface PeerListener {

    /** A node is connected, for the first time or again. */
    default void peerConnected(Peer peer) {}

    /** A connection is gone; the last call for this {@code Peer} object. */
    default void peerDisconnected(Peer peer, String reason) {}

    /** A peer's write-with-immediate arrived. */
    default void immediateArrived(Peer peer, int immediate) {}

    /** An accepted post is done ({@code error} null) or failed. */
    default void postEnded(long context, @org.jspecify.annotations.Nullable FabricError error) {}
}
