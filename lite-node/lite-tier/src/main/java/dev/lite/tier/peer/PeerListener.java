package dev.lite.tier.peer;

/** Is notified of connections on the thread that polls; must neither block nor throw. */
public interface PeerListener {

    /** A node is connected, for the first time or again. */
    default void peerConnected(Peer peer) {}

    /** A connection is gone; the last call for this {@code Peer} object. */
    default void peerDisconnected(Peer peer, String reason) {}
}
