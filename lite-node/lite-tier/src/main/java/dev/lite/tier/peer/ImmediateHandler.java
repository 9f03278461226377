package dev.lite.tier.peer;

/** Takes the immediates of one {@link ImmediateKind}. Runs on the thread that polls; must neither block nor throw. */
@FunctionalInterface
public interface ImmediateHandler {
    /** A peer's write-with-immediate arrived; its payload is the immediate without the kind. */
    void arrived(Peer peer, int payload);
}
