package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Peer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The rings into which other nodes write their calls, by node and number. Any thread.
 *
 * <p>A ring lives as long as its connection: until then its caller may write into it at any time. Its memory is kept
 * for the same node's next rings and never becomes part of an LMR, because a dying connection may still write to it.
 *
 * <p>Limit: {@value RpcWire#RINGS_MAX} rings of {@value RpcWire#RING_BYTES} bytes per peer.
 */
final class RpcRings {
    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final Executor later;
    /** Rings by node, then by number. A growing array is replaced. */
    private final AtomicReferenceArray<@Nullable RpcRing @Nullable []> rings;

    @GuardedBy("this")
    private final Map<Integer, ArrayDeque<Long>> stock = new HashMap<>();

    @GuardedBy("this")
    private final Map<Integer, Integer> counts = new HashMap<>();

    @GuardedBy("this")
    private long bytes;

    /** @param later runs tasks that may block */
    RpcRings(NodeArena arena, ArenaAllocator allocator, Executor later) {
        this.later = later;
        this.arena = arena;
        this.allocator = allocator;
        this.rings = new AtomicReferenceArray<>(arena.peersMax());
    }

    /** The connection's ring with this number, or null. Runs on the thread that holds the poll role. */
    @Nullable
    RpcRing get(Peer peer, int id) {
        @Nullable RpcRing @Nullable [] ofNode = rings.get(peer.id());
        RpcRing ring = ofNode == null || id >= ofNode.length ? null : ofNode[id];
        return ring != null && ring.peer == peer ? ring : null;
    }

    /**
     * Makes a ring.
     *
     * @throws LimitExceededException if the node has reached its limit of rings, or the arena has no room
     */
    synchronized RpcRing make(Peer peer, RpcFunction function, String principal, long callerHead, int generation) {
        int id = counts.getOrDefault(peer.id(), 0);
        if (id >= RpcWire.RINGS_MAX) {
            throw new LimitExceededException("node %s calls %d functions here as one principal each; the limit is %d"
                    .formatted(peer.hello().node(), id, RpcWire.RINGS_MAX));
        }
        ArrayDeque<Long> ofNode = stock.computeIfAbsent(peer.id(), any -> new ArrayDeque<>());
        Long offset = ofNode.poll();
        if (offset == null) {
            int size = RpcRing.PREFIX_BYTES + RpcWire.RING_BYTES;
            offset = allocator
                    .allocate(ArenaAllocator.INTERNAL_LMR, size, 1, 1)
                    .getFirst()
                    .offset();
            bytes += size;
        }
        RpcRing ring =
                new RpcRing(peer, id, function, principal, arena.address(), offset, callerHead, generation, later);
        @Nullable RpcRing @Nullable [] known = rings.get(peer.id());
        @Nullable
        RpcRing[] grown = known == null
                ? new @Nullable RpcRing[16]
                : Arrays.copyOf(known, id < known.length ? known.length : 2 * known.length);
        grown[id] = ring;
        rings.set(peer.id(), grown);
        counts.put(peer.id(), id + 1);
        return ring;
    }

    /** Removes and returns the rings of a lost connection. */
    synchronized @Nullable RpcRing[] remove(Peer peer) {
        @Nullable RpcRing @Nullable [] known = rings.get(peer.id());
        if (known == null || known[0] == null || known[0].peer != peer) {
            return new @Nullable RpcRing[0];
        }
        rings.set(peer.id(), null);
        counts.remove(peer.id());
        for (RpcRing ring : known) {
            if (ring != null) {
                ring.die();
                stock.computeIfAbsent(peer.id(), any -> new ArrayDeque<>()).add(ring.offset);
            }
        }
        return known;
    }

    /** Arena bytes that the rings use. */
    synchronized long bytes() {
        return bytes;
    }
}
