package dev.lite.tier.peer;

/**
 * The component that posted an operation to a fabric and gets its completion: the upper four bits of the post's
 * context. The other bits are the poster's payload. The context stays in this process.
 */
public enum Poster {
    /** Reads, writes and atomic operations on other nodes' memory. */
    ONE_SIDED(1),
    /** Requests and replies of calls; the payload is the slot. */
    CALL_SLOT(2),
    /** Writes of ring heads to callers. */
    RING_HEAD(3);

    /** The context of a post whose completion nobody needs. */
    public static final long NOBODY = 0;

    /** Maximum number of posters. */
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
