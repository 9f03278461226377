package dev.lite.tier.rpc;

import dev.lite.os.RawMemory;
import dev.lite.tier.peer.Peer;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/** The caller's side of a ring on a server's node. Valid while the connection lasts. Any thread. */
final class RpcBinding {
    final Peer peer;
    final int ring;
    /** Offset of the ring in the server's arena. */
    final long ringOffset;

    final long headOffset;
    private final long headAddress;
    private final long generation;
    private final AtomicLong tail = new AtomicLong(RpcWire.FIRST_POSITION);
    /** Held by the caller that polls for room while the ring is full. */
    final ReentrantLock room = new ReentrantLock(true);

    /**
     * @param headOffset offset of the word in this node's arena to which the server writes its head
     * @param generation the head's upper bits; they tell this binding's head from an earlier binding's
     */
    RpcBinding(Peer peer, int ring, long ringOffset, long arenaAddress, long headOffset, int generation) {
        this.peer = peer;
        this.ring = ring;
        this.ringOffset = ringOffset;
        this.headOffset = headOffset;
        this.headAddress = arenaAddress + headOffset;
        this.generation = generation;
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
            if (RpcWire.distance(head(), end) > RpcWire.RING_BYTES) {
                return -1;
            }
            if (tail.compareAndSet(seen, end)) {
                return seen;
            }
        }
    }

    /** Bytes to leave empty, so that an entry does not cross the end of the ring. */
    static int padding(long position, int bytes) {
        int left = RpcWire.RING_BYTES - place(position);
        return bytes > left ? left : 0;
    }

    static int place(long position) {
        return (int) position & (RpcWire.RING_BYTES - 1);
    }

    private long head() {
        long word = RawMemory.getLongAcquire(headAddress);
        // Before the server's first write, the word holds an earlier binding's head or nothing.
        return word >>> RpcWire.GENERATION_SHIFT == generation ? word & RpcWire.POSITION_MASK : RpcWire.FIRST_POSITION;
    }
}
