package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.tier.FairShares;
import dev.lite.tier.peer.Peer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The rings into which other nodes write their calls, by connection and number. Any thread.
 *
 * <p>A ring lives as long as its connection: until then its caller may write into it at any time. Its memory is kept
 * for the same node's next rings and never becomes part of an LMR, because a dying connection may still write to it.
 *
 * <p>The links forget a connection before they call {@link #remove}. So a ring that is made while the connection
 * {@linkplain #connected is still known} is removed later; otherwise it must not be made. A node may have two
 * connections for a moment: the end of a replaced one is reported late.
 *
 * <p>Limits, each {@linkplain FairShares divided} among the calling principals: {@value RpcWire#RINGS_MAX} rings of {@value
 * RpcWire#RING_BYTES} bytes per connection; and for the node so many of {@value RpcWire#LARGE_RING_BYTES} bytes that they take a
 * {@value #LARGE_PART}th of the arena.
 */
final class RpcRings {
    /** The arena divided by the part that large rings may take. */
    static final int LARGE_PART = 16;

    private final long arenaAddress;
    private final LongUnaryOperator room;
    private final RpcSlots slots;
    private final Executor later;
    private final Predicate<Peer> connected;
    /** By node: the connection that made a ring last. */
    private final AtomicReferenceArray<@Nullable OfConnection> latest;

    @GuardedBy("this")
    private final Map<Peer, OfConnection> connections = new HashMap<>();

    /** Memory of former rings. */
    @GuardedBy("this")
    private final Map<Size, ArrayDeque<Long>> stock = new HashMap<>();

    /** By principal: its large rings. A calling node says who its principals are, so nodes have shares, too. */
    private final FairShares large;

    /** By calling node: its large rings. */
    private final FairShares largeOfNodes;

    /** Large rings that have memory, also in the stock. */
    @GuardedBy("this")
    private int largeMade;

    @GuardedBy("this")
    private long bytes;

    private record Size(int node, int bytes) {}

    /** The rings of one connection, by number. */
    private static final class OfConnection {
        final Peer peer;
        /** Replaced with every change. */
        volatile RpcRing[] rings = {};

        final AtomicReferenceArray<@Nullable ReceivedCall> received = new AtomicReferenceArray<>(RpcSlots.COUNT_MAX);

        /** By principal: its rings. Guarded by the rings. */
        final Map<String, Integer> byPrincipal = new HashMap<>();

        OfConnection(Peer peer) {
            this.peer = peer;
        }
    }

    /**
     * @param arenaBytes size of the arena
     * @param room allocates bytes of the arena and returns their offset
     * @param later runs tasks that may block
     * @param connected whether the links still know a connection
     */
    RpcRings(
            long arenaAddress,
            long arenaBytes,
            int peersMax,
            LongUnaryOperator room,
            RpcSlots slots,
            Executor later,
            Predicate<Peer> connected) {
        this.arenaAddress = arenaAddress;
        this.room = room;
        this.slots = slots;
        this.later = later;
        this.connected = connected;
        this.large =
                new FairShares(Math.clamp(arenaBytes / LARGE_PART / RpcWire.LARGE_RING_BYTES, 0, RpcWire.RINGS_MAX));
        this.largeOfNodes = new FairShares(large.max());
        this.latest = new AtomicReferenceArray<>(peersMax);
    }

    /** The connection's ring with this number, or null. */
    @Nullable
    RpcRing get(Peer peer, int id) {
        OfConnection its = latest.get(peer.id());
        if (its == null || its.peer != peer) {
            return null;
        }
        RpcRing[] rings = its.rings;
        return id >= 0 && id < rings.length ? rings[id] : null;
    }

    /**
     * Makes a ring. Called under the engine's functions map.
     *
     * @param size of the ring, in bytes
     * @throws LimitExceededException if the connection has reached its limit of rings or the node that of large ones, or the arena
     *     has no room
     * @throws NodeUnreachableException if the connection has ended
     * @throws RpcFailedException if the word for the head is not in the caller's arena
     */
    synchronized RpcRing make(
            Peer peer, RpcFunction function, String principal, int size, long callerHead, int generation) {
        if (!connected.test(peer)) {
            throw new NodeUnreachableException("the connection to node %s ended while the function \"%s\" was bound"
                    .formatted(peer.hello().node(), function.name));
        }
        long headMax = peer.endpoint().remoteSize() - Long.BYTES;
        if (callerHead < 0 || callerHead > headMax || callerHead % Long.BYTES != 0) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "node %s wants the head of a ring at %d; it must be a multiple of %d, at most %d"
                            .formatted(peer.hello().node(), callerHead, Long.BYTES, headMax));
        }
        OfConnection known = connections.get(peer);
        RpcRing abandoned = known == null ? null : abandoned(known, function, principal, size, generation);
        if (known != null && abandoned != null) {
            RpcRing ring = abandoned.again(callerHead, generation);
            RpcRing[] changed = known.rings.clone();
            changed[ring.id] = ring;
            known.rings = changed;
            return ring;
        }
        int id = known == null ? 0 : known.rings.length;
        int ofPrincipal = known == null ? 0 : known.byPrincipal.getOrDefault(principal, 0);
        if (!FairShares.allows(ofPrincipal, id, RpcWire.RINGS_MAX)) {
            throw new LimitExceededException(
                    "node %s calls %d functions here, %d of them as \"%s\"; the limit is %d, and one principal may have as many as it leaves free"
                            .formatted(peer.hello().node(), id, ofPrincipal, principal, RpcWire.RINGS_MAX));
        }
        long offset = takeRoom(peer, principal, size);
        OfConnection its = known == null ? new OfConnection(peer) : known;
        RpcSlotShare replies = slots.replies(
                peer.hello().node(),
                "function \"%s\" for node %s"
                        .formatted(function.name, peer.hello().node()));
        RpcRing ring = new RpcRing(
                peer,
                id,
                function,
                principal,
                replies,
                its.received,
                arenaAddress,
                offset,
                size,
                callerHead,
                generation,
                later);
        RpcRing[] grown = Arrays.copyOf(its.rings, id + 1);
        grown[id] = ring;
        its.rings = grown;
        its.byPrincipal.merge(principal, 1, Integer::sum);
        if (known == null) {
            connections.put(peer, its);
            latest.set(peer.id(), its);
        }
        function.rings++;
        return ring;
    }

    /**
     * A ring that was made for an earlier request of the same binding. Its answer came too late, or the caller would not ask again:
     * so nobody uses the ring. Null: there is none.
     */
    private static @Nullable RpcRing abandoned(
            OfConnection its, RpcFunction function, String principal, int size, int generation) {
        for (RpcRing ring : its.rings) {
            if (ring.function == function
                    && ring.bytes == size
                    && ring.principal.equals(principal)
                    && ring.isOfEarlier(generation)) {
                return ring;
            }
        }
        return null;
    }

    /** Memory for the prefix and the ring. */
    @GuardedBy("this")
    private long takeRoom(Peer peer, String principal, int size) {
        boolean isLarge = size > RpcWire.RING_BYTES;
        if (isLarge) {
            takeLarge(peer.hello().node(), principal);
        }
        boolean taken = false;
        try {
            Long former = stock(peer, size).poll();
            if (former != null) {
                taken = true;
                return former;
            }
            if (isLarge && largeMade == large.max()) {
                throw new LimitExceededException(
                        "no large ring for node %s: the memory of all %d is kept for other nodes"
                                .formatted(peer.hello().node(), largeMade));
            }
            long offset = room.applyAsLong(RpcRing.PREFIX_BYTES + size);
            bytes += RpcRing.PREFIX_BYTES + size;
            largeMade += isLarge ? 1 : 0;
            taken = true;
            return offset;
        } finally {
            if (isLarge && !taken) {
                giveBackLarge(peer.hello().node(), principal);
            }
        }
    }

    private void takeLarge(String node, String principal) {
        if (!large.take(principal)) {
            throw noLarge(node, large.share(principal));
        }
        if (!largeOfNodes.take(node)) {
            large.giveBack(principal);
            throw noLarge(node, largeOfNodes.share(node));
        }
    }

    private void giveBackLarge(String node, String principal) {
        large.giveBack(principal);
        largeOfNodes.giveBack(node);
    }

    private static LimitExceededException noLarge(String node, FairShares.Share share) {
        return new LimitExceededException("no large ring for node %s: %s".formatted(node, share.describe()));
    }

    @GuardedBy("this")
    private ArrayDeque<Long> stock(Peer peer, int size) {
        return stock.computeIfAbsent(new Size(peer.id(), size), any -> new ArrayDeque<>());
    }

    /** Removes and returns the rings of a connection that the links have forgotten. */
    synchronized List<RpcRing> remove(Peer peer) {
        OfConnection its = connections.remove(peer);
        if (its == null) {
            return List.of();
        }
        latest.compareAndSet(peer.id(), its, null);
        List<RpcRing> removed = List.of(its.rings);
        for (RpcRing ring : removed) {
            ring.die();
            ring.replies.close();
            stock(peer, ring.bytes).add(ring.offset);
            if (ring.bytes > RpcWire.RING_BYTES) {
                giveBackLarge(peer.hello().node(), ring.principal);
            }
        }
        return removed;
    }

    /** Arena bytes that the rings use. */
    synchronized long bytes() {
        return bytes;
    }
}
