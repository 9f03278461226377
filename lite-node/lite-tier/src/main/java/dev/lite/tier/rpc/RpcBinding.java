package dev.lite.tier.rpc;

import dev.lite.os.RawMemory;
import dev.lite.tier.peer.Peer;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The caller's side of a ring on a server's node. Valid while the connection lasts. Any thread.
 *
 * <p>A binding whose calls often find the ring fairly full is replaced by one with a large ring. Calls that still use it stay
 * in its ring.
 */
final class RpcBinding {
    private static final int SHORTER_REPLIES_MAX = 256;
    /** After so many calls that found the ring fairly full, the binding asks for a large ring. */
    private static final int CROWDED_MAX = 8;
    /** A binding that was refused one asks again after so many more. */
    private static final int CROWDED_AGAIN = 10_000;
    /** A quarter of the ring, and at most so many bytes, are for short requests only. */
    private static final int RESERVED_BYTES_MAX = 16 << 10;

    final Peer peer;
    final int ring;
    /** Offset of the ring in the server's arena. */
    final long ringOffset;

    final long headOffset;
    /** The slots for its calls. */
    final RpcSlotShare slots;

    private final int ringBytes;
    private final long headAddress;
    private final long generation;
    private final AtomicLong tail;
    /** Held by the caller that polls for room while the ring is full. */
    final ReentrantLock room = new ReentrantLock(true);
    /**
     * What a reply probably needs, in bytes. A guess: a longer reply takes an extra round trip. Racy: a lost write makes
     * the guess worse, and nothing else.
     */
    private int replyBytes;

    private int shorterReplies; // in a row; racy, too
    private int crowded; // racy, too
    private volatile @Nullable RpcBinding larger;

    /**
     * @param ringBytes size of the ring
     * @param headOffset offset of the word in this node's arena to which the server writes its head
     * @param generation the head's upper bits; they tell this binding's head from an earlier binding's
     */
    RpcBinding(
            Peer peer,
            int ring,
            long ringOffset,
            int ringBytes,
            long arenaAddress,
            long headOffset,
            int generation,
            RpcSlotShare slots) {
        this.slots = slots;
        this.peer = peer;
        this.ring = ring;
        this.ringOffset = ringOffset;
        this.ringBytes = ringBytes;
        this.tail = new AtomicLong(RpcWire.firstPosition(ringBytes));
        this.headOffset = headOffset;
        this.headAddress = arenaAddress + headOffset;
        this.generation = generation;
    }

    /** Bytes that the slot of the next call should have for its reply. */
    int expectedReplyBytes() {
        return replyBytes;
    }

    /** Corrects the guess after a reply: at once if the reply was longer, after many replies if they were shorter. */
    void replied(int bytes) {
        int expected = replyBytes;
        if (bytes > expected) {
            if (RpcSlots.sizeClass(bytes) > 0) {
                replyBytes = bytes;
                shorterReplies = 0;
            }
        } else if (expected > 0) {
            if (RpcSlots.sizeClass(bytes) == RpcSlots.sizeClass(expected)) {
                shorterReplies = 0;
            } else if (++shorterReplies > SHORTER_REPLIES_MAX) {
                replyBytes = RpcSlots.sizeClass(bytes) > 0 ? bytes : 0;
                shorterReplies = 0;
            }
        }
    }

    /**
     * Reserves room. The caller must send every entry that it reserved.
     *
     * @param bytes size of the entry, a multiple of a unit
     * @return start of the reservation; the entry follows its {@link #padding}; -1 if there is no room now
     */
    long tryReserve(int bytes) {
        while (true) {
            long seen = tail.get();
            long end = seen + padding(seen, bytes) + bytes;
            if (RpcWire.distance(head(), end) > ringBytes) {
                return -1;
            }
            if (tail.compareAndSet(seen, end)) {
                return seen;
            }
        }
    }

    /** Whether an entry of so many bytes leaves enough of the ring for short requests. A guess: others reserve room, too. */
    boolean hasMuchRoom(int bytes) {
        long seen = tail.get();
        long end = seen + padding(seen, bytes) + bytes;
        return RpcWire.distance(head(), end) <= ringBytes - Math.min(ringBytes / 4, RESERVED_BYTES_MAX);
    }

    /** Bytes to leave empty, so that an entry does not cross the end of the ring. */
    int padding(long position, int bytes) {
        int left = ringBytes - place(position);
        return bytes > left ? left : 0;
    }

    int place(long position) {
        return (int) position & (ringBytes - 1);
    }

    /**
     * A call found the ring fairly full. Returns whether that was often enough to ask for a large ring; true once, until
     * {@link #askAgainLater}.
     */
    boolean isCrowded() {
        return ringBytes < RpcWire.LARGE_RING_BYTES && crowded <= CROWDED_MAX && ++crowded > CROWDED_MAX;
    }

    /** There was no large ring for this binding now. */
    void askAgainLater() {
        crowded = -CROWDED_AGAIN;
    }

    /** The binding that replaces this one, or null. */
    @Nullable
    RpcBinding larger() {
        return larger;
    }

    /** Replaces this binding. */
    void replaceBy(RpcBinding its) {
        its.replyBytes = replyBytes;
        larger = its;
    }

    private long head() {
        long word = RawMemory.getLongAcquire(headAddress);
        // Before the server's first write, the word holds an earlier binding's head or nothing.
        return word >>> RpcWire.GENERATION_SHIFT == generation
                ? word & RpcWire.POSITION_MASK
                : RpcWire.firstPosition(ringBytes);
    }
}
