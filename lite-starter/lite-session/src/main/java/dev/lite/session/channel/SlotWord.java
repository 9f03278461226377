package dev.lite.session.channel;

/**
 * The values of a slot's futex word.
 *
 * <pre>
 *   bits 0–2   state: {@link #PENDING} …; 0 in a slot that was never used
 *   bit 3      SLEEPING: a caller's thread sleeps on the word, or is about to
 *   bit 4      ENDED: the channel has ended; set so that nobody falls asleep on the word
 *   bits 5–31  generation: grows with each call of the slot
 * </pre>
 */
final class SlotWord {
    /** The request is submitted, and no server thread has taken it. */
    static final int PENDING = 1;
    /** A server thread has taken the request. */
    static final int TAKEN = 2;
    /** The reply is in the window; or the request was cancelled and the server has dropped it. */
    static final int DONE = 3;
    /** The caller has stopped waiting. */
    static final int CANCELLED = 4;

    static final int SLEEPING = 8;
    static final int ENDED = 16;

    private static final int STATE_MASK = 7;
    private static final int GENERATION_SHIFT = 5;

    private SlotWord() {}

    /** The word of a call without flags. */
    static int of(int generation, int state) {
        return generation << GENERATION_SHIFT | state;
    }

    /** The next generation; after 2^27 calls of a slot they repeat. */
    static int next(int generation) {
        return (generation + 1) & (-1 >>> GENERATION_SHIFT);
    }

    static int generation(int word) {
        return word >>> GENERATION_SHIFT;
    }

    static int state(int word) {
        return word & STATE_MASK;
    }

    static boolean has(int word, int flag) {
        return (word & flag) != 0;
    }

    static int with(int word, int state) {
        return (word & ~STATE_MASK) | state;
    }

    /** Whether a call of this generation still waits for its reply, in a channel that was not ended. */
    static boolean isWaiting(int word, int generation) {
        int plain = word & ~SLEEPING;
        return plain == of(generation, PENDING) || plain == of(generation, TAKEN);
    }
}
