package dev.lite.tier.sync;

/** A lock or a barrier as this node's sessions use it, with its access to the word. Any thread. */
interface WordUser {
    /** The name of the lock or barrier. */
    String name();

    /** This node's access to the word. */
    SyncWord word();

    /** The word moved to another home, which does not know the waiters of this node yet. */
    void homeMoved();

    /** The word is dead: nothing that was granted by it is valid any more. */
    void wordDied();

    /** Whether no thread of this node has a ticket or is a party. */
    boolean isIdle();
}
