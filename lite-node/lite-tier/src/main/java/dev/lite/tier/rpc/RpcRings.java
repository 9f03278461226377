package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
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
 * <p>Limit: {@value RpcWire#RINGS_MAX} rings of {@value RpcWire#RING_BYTES} bytes per connection, {@linkplain FairShares divided}
 * among the calling principals.
 */
final class RpcRings {
    private final long arenaAddress;
    private final LongUnaryOperator room;
    private final RpcSlots slots;
    private final Executor later;
    private final Predicate<Peer> connected;
    /** By node: the connection that made a ring last. */
    private final AtomicReferenceArray<@Nullable OfConnection> latest;

    @GuardedBy("this")
    private final Map<Peer, OfConnection> connections = new HashMap<>();

    @GuardedBy("this")
    private final Map<Integer, ArrayDeque<Long>> stock = new HashMap<>();

    @GuardedBy("this")
    private long bytes;

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
     * @param room allocates bytes of the arena and returns their offset
     * @param later runs tasks that may block
     * @param connected whether the links still know a connection
     */
    RpcRings(
            long arenaAddress,
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
     * Makes a ring.
     *
     * @throws LimitExceededException if the connection has reached its limit of rings, or the arena has no room
     * @throws NodeUnreachableException if the connection has ended
     */
    synchronized RpcRing make(Peer peer, RpcFunction function, String principal, long callerHead, int generation) {
        if (!connected.test(peer)) {
            throw new NodeUnreachableException("the connection to node %s ended while the function \"%s\" was bound"
                    .formatted(peer.hello().node(), function.name));
        }
        OfConnection known = connections.get(peer);
        int id = known == null ? 0 : known.rings.length;
        int ofPrincipal = known == null ? 0 : known.byPrincipal.getOrDefault(principal, 0);
        if (!FairShares.allows(ofPrincipal, id, RpcWire.RINGS_MAX)) {
            throw new LimitExceededException(
                    "node %s calls %d functions here, %d of them as \"%s\"; the limit is %d, and one principal may have as many as it leaves"
                            .formatted(peer.hello().node(), id, ofPrincipal, principal, RpcWire.RINGS_MAX));
        }
        ArrayDeque<Long> ofNode = stock.computeIfAbsent(peer.id(), any -> new ArrayDeque<>());
        Long offset = ofNode.poll();
        if (offset == null) {
            int size = RpcRing.PREFIX_BYTES + RpcWire.RING_BYTES;
            offset = room.applyAsLong(size);
            bytes += size;
        }
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
        return ring;
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
            stock.computeIfAbsent(peer.id(), any -> new ArrayDeque<>()).add(ring.offset);
        }
        return removed;
    }

    /** Arena bytes that the rings use. */
    synchronized long bytes() {
        return bytes;
    }
}
