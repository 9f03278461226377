package dev.lite.tier.peer;

/** Receives connection events on the polling thread; must neither block nor throw. */
public interface PeerListener {

    /** A node is connected, for the first time or again. */
    default void peerConnected(Peer peer) {}

    /** A connection was lost. This is the last call for this {@code Peer} object. */
    default void peerDisconnected(Peer peer, String reason) {}
}
