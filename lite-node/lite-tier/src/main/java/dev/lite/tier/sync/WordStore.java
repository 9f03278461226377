package dev.lite.tier.sync;

import dev.lite.os.waiting.Deadline;

/** Finds and creates words, in the directory and the arenas. Any thread. */
public interface WordStore {
    /** The kind of object that a word belongs to. Each kind has its own names. */
    enum Kind {
        /** A {@link dev.lite.api.LtLock}. */
        LOCK,
        /** A {@link dev.lite.api.LtBarrier}. */
        BARRIER
    }

    /**
     * Opens the word with this name. If the directory has none, creates it in this node's arena with value 0.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer
     * @throws dev.lite.api.LmrUnavailableException if the word's home restarted without the word's arena
     * @throws dev.lite.api.LimitExceededException if the word does not exist and this node's arena is full
     */
    SyncWord open(Kind kind, String name, Deadline deadline);

    /**
     * Opens a word in this node's own arena that another node names.
     *
     * @throws dev.lite.api.LmrUnavailableException if this arena has no such word
     */
    SyncWord own(WordRef ref);

    /** Unmaps a word that {@link #open} or {@link #own} mapped. The word itself stays. */
    void giveBack(SyncWord word);
}
