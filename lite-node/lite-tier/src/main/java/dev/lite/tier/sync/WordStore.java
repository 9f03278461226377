package dev.lite.tier.sync;

import dev.lite.os.waiting.Deadline;

/** Finds and creates words, in the directory and the arenas. Any thread. */
public interface WordStore {
    /** The kind of object that a word belongs to. Each kind has its own names. */
    enum Kind implements SyncCalls.Numbered {
        /** A {@link dev.lite.api.LtLock}. */
        LOCK(1),
        /** A {@link dev.lite.api.LtBarrier}. */
        BARRIER(2);

        private final int number;

        Kind(int number) {
            this.number = number;
        }

        @Override
        public int number() {
            return number;
        }
    }

    /**
     * A word and its name.
     *
     * @param ref where it was when this was made
     */
    record Named(Kind kind, String name, WordRef ref) {}

    /**
     * Opens the word with this name. If the directory has none, creates it in this node's arena with value 0. The word may
     * be dead, or its memory may be free by now: its home tells.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer
     * @throws dev.lite.api.LmrUnavailableException if the word's home restarted without the word's arena
     * @throws dev.lite.api.LimitExceededException if the word does not exist and this node's arena is full
     */
    SyncWord open(Kind kind, String name, Deadline deadline);

    /** Whether a word lies in this node's arena. */
    boolean isHere(WordRef ref);

    /**
     * Opens a word in this node's own arena that another node names.
     *
     * @throws dev.lite.api.LmrFreedException if this arena has no such word
     */
    SyncWord own(WordRef ref);

    /** Unmaps a word that {@link #open} or {@link #own} mapped. The word itself stays. */
    void giveBack(SyncWord word);

    /** Whether memory of this node's arena is being freed or cleaned. */
    boolean isFreeing();

    /**
     * The smallest ticket that a new lock may begin with: larger than every ticket of a lock whose record was removed
     * before this call. At least 1.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer
     */
    long ticketFloor(Deadline deadline);

    /**
     * Makes {@link #ticketFloor} at least this ticket.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer
     */
    void raiseTicketFloor(long ticket, Deadline deadline);

    /**
     * Removes a dead word of this node's arena, or one whose memory is free already: first its record, then its memory. A
     * record that describes another word, or another place, stays.
     *
     * @return false if the word moves; then this must be called again
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer
     */
    boolean remove(Named word, Deadline deadline);
}
