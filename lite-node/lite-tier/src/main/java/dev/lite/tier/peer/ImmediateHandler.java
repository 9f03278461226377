package dev.lite.tier.peer;

/** Handles the immediates of one {@link ImmediateKind}. Runs on the polling thread; must neither block nor throw. */
@FunctionalInterface
public interface ImmediateHandler {
    /** A peer's write-with-immediate arrived. The payload is the immediate without the kind. */
    void arrived(Peer peer, int payload);
}
