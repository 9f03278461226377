package dev.lite.tier.rpc;

import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.StressPeers;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** A ring and its binding, in one process; nothing is written into the ring. */
final class TestRpcRing {
    /** A quarter of the ring, after which the server reports its head. */
    static final int ENTRY_BYTES = RpcWire.RING_BYTES / 4;

    private static final int STATES_MAX = 1 << 17;
    private static final int STATE_BYTES = 2 * RpcWire.UNIT_BYTES;
    /** Each state has two cache lines: the ring's prefix, and the word for the head. */
    private static final long MEMORY =
            Arena.global().allocate((long) STATES_MAX * STATE_BYTES, 64).address();

    private static final AtomicInteger STATES = new AtomicInteger();
    private static final Peer PEER = StressPeers.connect(new CountingEndpoint());

    final RpcRing ring;
    final RpcBinding binding;

    @SuppressWarnings("NullAway") // the function is not used
    TestRpcRing() {
        int state = STATES.getAndIncrement();
        int generation = state / STATES_MAX + 1 & 0xffff; // what an earlier state left in the memory does not count
        long prefix = MEMORY + (long) (state & STATES_MAX - 1) * STATE_BYTES;
        long head = prefix + RpcWire.UNIT_BYTES;
        RpcSlots slots = TestSlots.small();
        ring = new RpcRing(
                PEER,
                0,
                null,
                "a",
                slots.replies("n0", "f"),
                new AtomicReferenceArray<>(0),
                prefix,
                0,
                RpcWire.RING_BYTES,
                head,
                generation,
                Runnable::run);
        binding = new RpcBinding(PEER, 0, 0, RpcWire.RING_BYTES, head, 0, generation, slots.calls("a", "f"));
    }

    /** Reserves an entry; says whether there was room. */
    int reserve() {
        return binding.tryReserve(ENTRY_BYTES) >= 0 ? 1 : 0;
    }

    /** Consumes the entry at a place. */
    void consume(int number) {
        synchronized (ring) {
            ring.consume(number * ENTRY_BYTES, 0, ENTRY_BYTES);
        }
    }
}
