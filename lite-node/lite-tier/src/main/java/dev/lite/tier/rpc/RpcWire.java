package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
import dev.lite.tier.peer.ImmediateKind;

/**
 * The wire format between two nodes. Payloads of immediates:
 *
 * <pre>
 *   call      ring (12 bits) | place in the ring / {@value #UNIT_BYTES} (16 bits)
 *     +0   length     int   of the context and the request, bytes
 *     +4   padding    short units that were left empty before the entry, at the end of the ring
 *     +6   flags      short {@link #FLAG_REMOTE}, {@link #FLAG_CANCELLED}, {@link #FLAG_LOW}, the size of the slot, and the length of the context
 *     +8   call       long  chosen by the caller
 *     +16  slot       int   the caller's
 *     +20  capacity   int   the longest reply that the caller takes, bytes
 *     +24  reply to   long  offset of the reply in the caller's arena
 *     +32  the context and the request, or, with FLAG_REMOTE, a long: their offset in the caller's arena
 *   reply     slot (28 bits)
 *     +0   call       long
 *     +8   status     int   0, {@link #REPLY_ELSEWHERE}, or the number of a {@link dev.lite.api.LiteException.Code}
 *     +12  length     int   of the reply, or of the error as {@link dev.lite.session.wire.WireError} has it, bytes
 *     +16  the reply; or, with REPLY_ELSEWHERE, its offset in the server's arena (long) and the server's slot (int)
 *   reply read: the server's slot (28 bits)
 * </pre>
 *
 * A reply that is too long for the caller's slot stays in a slot of the server. The caller reads it from there, and then
 * returns that slot with the last immediate.
 */
final class RpcWire {
    /** Ring entries begin at multiples of this: a cache line. */
    static final int UNIT_BYTES = 64;

    /** Bytes of a ring. Small, because a node may have a thousand rings. */
    static final int RING_BYTES = 16 << 10;

    /** Bytes of a ring whose callers have many or long requests under way. */
    static final int LARGE_RING_BYTES = 256 << 10;

    /** A longer request stays in the caller's slot. This is a page and a context. */
    static final int INLINE_BYTES_MAX = (4 << 10) + 256;

    /** A request that is longer than this also stays in the caller's slot while the ring is fairly full. */
    static final int SHORT_BYTES_MAX = 1 << 10;

    /** Maximum number of rings that a calling node has on a node: the ring's number has 12 bits. */
    static final int RINGS_MAX = 1 << 12;

    static final int RING_SHIFT = 16;
    static final int PLACE_MASK = (1 << RING_SHIFT) - 1;
    /** Mask of a slot's number in an immediate. */
    static final int SLOT_MASK = ImmediateKind.PAYLOAD_MAX;

    static final int LENGTH = 0;
    static final int PADDING_AND_FLAGS = 4;
    static final int CALL_ID = 8;
    static final int SLOT = 16;
    static final int CAPACITY = 20;
    static final int REPLY_TO = 24;
    static final int REQUEST = 32;
    static final int CALL_HEADER_BYTES = 32;
    static final int REMOTE_BYTES = CALL_HEADER_BYTES + Long.BYTES;

    static final int FLAG_REMOTE = 1 << 16;
    static final int FLAG_CANCELLED = 1 << 17;
    /** The call has low priority. */
    static final int FLAG_LOW = 1 << 30;

    static final int PADDING_MASK = 0xffff;
    /** The size of the caller's slot, as {@link RpcSlots#capacity} takes it: two bits. */
    static final int SIZE_CLASS_SHIFT = 18;

    static final int SIZE_CLASS_MASK = 3;

    /** The length of the context in bytes: ten bits. 0: there is none. */
    static final int CONTEXT_SHIFT = 20;

    static final int CONTEXT_MASK = 0x3ff;

    static final int REPLY_CALL_ID = 0;
    static final int REPLY_STATUS = 8;
    static final int REPLY_LENGTH = 12;
    static final int REPLY_HEADER_BYTES = 16;
    /** The status of a reply that the caller must read from the server's node. */
    static final int REPLY_ELSEWHERE = -1;

    static final int ELSEWHERE_OFFSET = 16;
    static final int ELSEWHERE_SLOT = 24;
    static final int ELSEWHERE_BYTES = 12;

    /** In a head word: the binding's generation lies above this bit, the count of consumed bytes below. */
    static final int GENERATION_SHIFT = 48;

    static final long POSITION_MASK = (1L << GENERATION_SHIFT) - 1;

    private RpcWire() {}

    /**
     * The position at which a ring begins. Positions count bytes and never end, but a head word has only the lower bits.
     * So positions are compared by their distance, with {@link #distance}. A ring begins just below the end of those
     * bits: each one passes it in its first round, not after months.
     */
    static long firstPosition(int ringBytes) {
        return POSITION_MASK + 1 - ringBytes;
    }

    /** Whether a ring can have this size: a power of two, as both ends compute places by a mask. */
    static boolean isRingSize(int bytes) {
        return bytes == RING_BYTES || bytes == LARGE_RING_BYTES;
    }

    /** Bytes that an entry uses in the ring. */
    static int entryBytes(int length, boolean remote) {
        int bytes = remote ? REMOTE_BYTES : CALL_HEADER_BYTES + length;
        return (bytes + UNIT_BYTES - 1) & -UNIT_BYTES;
    }

    /** Bytes from a position to a later one, which is at most 2^47 bytes ahead; negative if it is not later. */
    static long distance(long from, long to) {
        int unused = Long.SIZE - GENERATION_SHIFT;
        return (to - from) << unused >> unused;
    }

    static int callImmediate(int ring, int place) {
        return ImmediateKind.CALL.with(ring << RING_SHIFT | place / UNIT_BYTES);
    }

    /** Whether a request can begin with a context of this length. */
    static boolean isContextLength(int contextBytes, int length) {
        return contextBytes <= Math.min(LtRpc.CONTEXT_BYTES_MAX, length);
    }

    static boolean isMessageLength(long length) {
        return length >= 0 && length <= LtRpc.MESSAGE_BYTES_MAX;
    }
}
