package dev.lite.tier.rpc;

import dev.lite.os.RawMemory;
import dev.lite.tier.peer.Peer;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/** The caller's side of a ring at a server's node. Good as long as the connection. Any thread. */
final class RpcBinding {
    final Peer peer;
    final int ring;
    /** Where the ring begins in the server's arena. */
    final long ringOffset;

    final long headOffset;
    private final long headAddress;
    private final long generation;
    private final AtomicLong tail = new AtomicLong();
    /** Held by the caller that polls for room while there is none. */
    final ReentrantLock room = new ReentrantLock(true);

    /**
     * @param headOffset a word of this node's arena that the server writes its head to
     * @param generation what the head's upper bits are, so that an earlier binding's head is not taken for this one's
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
     * Reserves room; what is reserved must be sent.
     *
     * @param bytes of the entry, a multiple of a unit
     * @return where the reservation begins: the entry comes after its {@link #padding}; -1 when there is no room now
     */
    long tryReserve(int bytes) {
        while (true) {
            long seen = tail.get();
            long end = seen + padding(seen, bytes) + bytes;
            if (end - head() > RpcWire.RING_BYTES) {
                return -1;
            }
            if (tail.compareAndSet(seen, end)) {
                return seen;
            }
        }
    }

    /** Bytes to be left empty, so that an entry does not go over the end of the ring. */
    static int padding(long position, int bytes) {
        int left = RpcWire.RING_BYTES - place(position);
        return bytes > left ? left : 0;
    }

    static int place(long position) {
        return (int) position & (RpcWire.RING_BYTES - 1);
    }

    private long head() {
        long word = RawMemory.getLongAcquire(headAddress);
        // Before the first report it is somebody else's, or nothing.
        return word >>> RpcWire.GENERATION_SHIFT == generation ? word & RpcWire.POSITION_MASK : 0;
    }
}
