package dev.lite.tier.sync;

import dev.lite.os.waiting.Deadline;

/** Where words come from: the directory and the arenas. Any thread. */
public interface WordStore {
    /** What kind of thing a word belongs to; each kind has names of its own. */
    enum Kind {
        /** A {@link dev.lite.api.LtLock}. */
        LOCK,
        /** A {@link dev.lite.api.LtBarrier}. */
        BARRIER
    }

    /**
     * The word of this name; it is made in this node's arena, with value 0, when the directory has none.
     *
     * @throws dev.lite.api.ClusterUnavailableException when the directory does not answer
     * @throws dev.lite.api.LmrUnavailableException when its home restarted without the arena that it was in
     * @throws dev.lite.api.LimitExceededException when it is to be made and this node's arena is full
     */
    SyncWord open(Kind kind, String name, Deadline deadline);

    /**
     * A word of this node's own arena that another node speaks of.
     *
     * @throws dev.lite.api.LmrUnavailableException when this arena has no such word
     */
    SyncWord own(WordRef ref);

    /** Gives back what {@link #open} or {@link #own} mapped. The word itself stays. */
    void giveBack(SyncWord word);
}
