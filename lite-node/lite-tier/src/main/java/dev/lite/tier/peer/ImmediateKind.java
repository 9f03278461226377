package dev.lite.tier.peer;

/**
 * The kind of a write-with-immediate between nodes: the upper four bits of its immediate. The other bits are the
 * payload, whose meaning depends on the kind. A kind's number never changes.
 */
public enum ImmediateKind {
    /** A request of the control channel. */
    CONTROL_REQUEST(1),
    /** A reply of the control channel. */
    CONTROL_REPLY(2),
    /** A call of an RPC function. */
    CALL(3),
    /** The reply of a call. */
    CALL_REPLY(4),
    /** A caller has read a reply that was too long for its slot. */
    CALL_REPLY_READ(5),
    /** The sender has admitted the connection. Any other immediate says so, too. */
    ADMITTED(6);

    /** Maximum number of kinds. */
    static final int COUNT_MAX = 16;

    /** Number of bits of the payload. */
    private static final int PAYLOAD_BITS = 28;

    /** The largest payload, and the mask of its bits. */
    public static final int PAYLOAD_MAX = (1 << PAYLOAD_BITS) - 1;

    private final int number;

    ImmediateKind(int number) {
        this.number = number;
    }

    int number() {
        return number;
    }

    /** The immediate of this kind with a payload of 0 to {@link #PAYLOAD_MAX}. */
    public int with(int payload) {
        return number << PAYLOAD_BITS | payload;
    }

    static int numberOf(int immediate) {
        return immediate >>> PAYLOAD_BITS;
    }
}
