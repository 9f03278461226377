package dev.lite.tier.peer;

/**
 * The part that posted an operation to a fabric, and is notified of its end: the upper four bits of the post's context. The others are the
 * poster's own payload. Only this process sees it.
 */
public enum Poster {
    /** Reads, writes and atomic operations on memory of other nodes. */
    ONE_SIDED(1),
    /** Requests and replies of calls, by their slot. */
    CALL_SLOT(2),
    /** Heads of rings that are written back to callers. */
    RING_HEAD(3);

    /** The context of a post whose end nobody needs to know. */
    public static final long NOBODY = 0;

    /** How many posters there can be. */
    static final int COUNT_MAX = 16;

    private static final int PAYLOAD_BITS = 60;
    private static final long PAYLOAD_MASK = (1L << PAYLOAD_BITS) - 1;

    private final int number;

    Poster(int number) {
        this.number = number;
    }

    int number() {
        return number;
    }

    /** The context of a post with a payload of at most 60 bits. */
    public long context(long payload) {
        return (long) number << PAYLOAD_BITS | payload;
    }

    static int numberOf(long context) {
        return (int) (context >>> PAYLOAD_BITS);
    }

    static long payloadOf(long context) {
        return context & PAYLOAD_MASK;
    }
}
