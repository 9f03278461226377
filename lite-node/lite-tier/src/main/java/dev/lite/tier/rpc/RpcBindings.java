package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.peer.Peer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * This node's bindings to rings on other nodes: one per function, node and principal, shared by all its callers. Any
 * thread.
 *
 * <p>A binding and the word for its head belong to one connection and go with it. The links forget a connection before
 * they call {@link #remove}. So what is stored while the connection {@linkplain #connected is still known} is removed
 * later; otherwise it must not be stored.
 *
 * <p>Limit: {@value RpcWire#RINGS_MAX} per node. Each takes a cache line of the arena.
 */
final class RpcBindings {
    private static final int WORDS = 64;
    private static final int GENERATION_MAX = 0xffff;

    private final long arenaAddress;
    private final LongUnaryOperator room;
    private final RpcSlots slots;
    private final RingRequest request;
    private final Predicate<Peer> connected;
    /** A holder leaves the map only if no thread uses it and it has no binding; both change in the map's compute. */
    private final Map<Key, Holder> holders = new ConcurrentHashMap<>();

    @GuardedBy("freeWords")
    private final ArrayDeque<Long> freeWords = new ArrayDeque<>();

    /** The words to which the other end of a connection may write. */
    @GuardedBy("freeWords")
    private final Map<Peer, ArrayDeque<Long>> usedWords = new HashMap<>();

    @GuardedBy("freeWords")
    private int generation;

    @GuardedBy("freeWords")
    private long bytes;

    private record Key(int node, String function, String principal) {}

    private static final class Holder {
        final ReentrantLock binding = new ReentrantLock();
        int users; // in the map's compute
        volatile @Nullable RpcBinding current; // written in the map's compute
    }

    /** A ring on a server's node: its number there, the offset of its first byte in that node's arena, and its size. */
    record Ring(int number, long offset, int bytes) {}

    /** Asks a node for a ring. */
    interface RingRequest {
        /**
         * Throws the server's refusal, or what happened to the connection.
         *
         * @param headOffset where the server writes the ring's head, in this node's arena
         * @param generation of the head
         * @param bytes wanted size of the ring; a node that knows only one size gives that one
         */
        Ring ask(
                Peer peer,
                String function,
                String principal,
                long headOffset,
                int generation,
                int bytes,
                Deadline deadline);
    }

    /**
     * @param room allocates bytes of the arena and returns their offset
     * @param connected whether the links still know a connection
     */
    RpcBindings(
            long arenaAddress, LongUnaryOperator room, RpcSlots slots, RingRequest request, Predicate<Peer> connected) {
        this.arenaAddress = arenaAddress;
        this.room = room;
        this.slots = slots;
        this.request = request;
        this.connected = connected;
    }

    /** The binding over this connection. Asks the node for one if there is none yet. */
    RpcBinding get(Peer peer, String function, String principal, long deadlineNs) {
        Key key = new Key(peer.id(), function, principal);
        Holder seen = holders.get(key);
        RpcBinding known = seen == null ? null : seen.current;
        return known != null && known.peer == peer ? known : make(peer, key, deadlineNs);
    }

    private RpcBinding make(Peer peer, Key key, long deadlineNs) {
        return change(peer, key, deadlineNs, holder -> {
            RpcBinding known = holder.current;
            if (known != null && known.peer == peer) {
                return known;
            }
            RpcBinding made = bind(peer, key, RpcWire.RING_BYTES, null, deadlineNs);
            keep(key, holder, made);
            return made;
        });
    }

    /**
     * Replaces a binding by one with a large ring. Its callers keep their slots. If this throws, the binding stays.
     *
     * @throws RpcFailedException if the server's node knows no such rings
     * @throws dev.lite.api.LimitExceededException if it has reached its limit of them
     */
    void enlarge(RpcBinding binding, String function, String principal, long deadlineNs) {
        Peer peer = binding.peer;
        Key key = new Key(peer.id(), function, principal);
        RpcBinding unused = change(peer, key, deadlineNs, holder -> {
            if (holder.current == binding) {
                RpcBinding made = bind(peer, key, RpcWire.LARGE_RING_BYTES, binding.slots, deadlineNs);
                keepLarger(key, binding, made);
            }
            return binding;
        });
    }

    /** Runs a change of a function's binding. At any time, one thread changes it. */
    private RpcBinding change(Peer peer, Key key, long deadlineNs, Function<Holder, RpcBinding> change) {
        Holder holder = holders.compute(key, (same, now) -> {
            Holder used = now == null ? new Holder() : now;
            used.users++;
            return used;
        });
        boolean locked = false;
        try {
            locked = holder.binding.tryLock(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
            if (!locked) {
                throw new LiteTimeoutException("binding the function \"%s\" at node %s took longer than the deadline"
                        .formatted(key.function(), peer.hello().node()));
            }
            return change.apply(holder);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new NodeUnreachableException(
                    "interrupted while binding the function \"%s\"".formatted(key.function()), e);
        } finally {
            if (locked) {
                holder.binding.unlock();
            }
            // Names without a server do not accumulate.
            holders.computeIfPresent(key, (same, now) -> --now.users == 0 && now.current == null ? null : now);
        }
    }

    private void keep(Key key, Holder holder, RpcBinding made) {
        holders.computeIfPresent(key, (same, now) -> {
            if (!connected.test(made.peer)) {
                made.slots.close();
                throw lost(made.peer, key);
            }
            RpcBinding former = holder.current;
            if (former != null) {
                former.slots.close(); // its connection was replaced
            }
            holder.current = made;
            return now;
        });
    }

    private void keepLarger(Key key, RpcBinding former, RpcBinding made) {
        holders.computeIfPresent(key, (same, now) -> {
            // Else its connection ended meanwhile, and this binding's, too; or it was replaced, which the links report
            // later.
            if (now.current == former && connected.test(made.peer)) {
                now.current = made;
                former.replaceBy(made);
            }
            return now;
        });
    }

    private static NodeUnreachableException lost(Peer peer, Key key) {
        return new NodeUnreachableException("the connection to node %s ended while the function \"%s\" was bound"
                .formatted(peer.hello().node(), key.function()));
    }

    /** @param share the slots for its calls; null: new ones */
    private RpcBinding bind(Peer peer, Key key, int ringBytes, @Nullable RpcSlotShare share, long deadlineNs) {
        long word;
        int number;
        synchronized (freeWords) {
            if (!connected.test(peer)) {
                throw lost(peer, key);
            }
            word = takeWord(peer);
            generation = generation == GENERATION_MAX ? 1 : generation + 1;
            number = generation;
        }
        // A former binding with the same generation may have left its head here.
        RawMemory.putLongRelease(arenaAddress + word, 0);
        boolean bound = false;
        try {
            Duration left = Duration.ofNanos(Math.max(0, deadlineNs - System.nanoTime()));
            Ring ring = request.ask(peer, key.function(), key.principal(), word, number, ringBytes, Deadline.in(left));
            if (ring.bytes() != ringBytes) {
                throw new RpcFailedException(
                        RpcStatus.REFUSED,
                        "node %s gives rings of %d bytes, and not of %d"
                                .formatted(peer.hello().node(), ring.bytes(), ringBytes));
            }
            long arenaBytes = peer.endpoint().remoteSize();
            if (ring.offset() < 0 || ring.offset() > arenaBytes - ringBytes) {
                throw new RpcFailedException(
                        RpcStatus.UNKNOWN,
                        "node %s gave a ring at %d of %d bytes, which is not in its arena of %d bytes"
                                .formatted(peer.hello().node(), ring.offset(), ringBytes, arenaBytes));
            }
            bound = true;
            RpcSlotShare its = share != null
                    ? share
                    : slots.calls(
                            key.principal(),
                            "function \"%s\" at node %s"
                                    .formatted(key.function(), peer.hello().node()));
            return new RpcBinding(peer, ring.number(), ring.offset(), ringBytes, arenaAddress, word, number, its);
        } finally {
            if (!bound) {
                giveBackWord(peer, word); // nobody calls into the ring, if there is one: no head is written
            }
        }
    }

    @GuardedBy("this.freeWords")
    private long takeWord(Peer peer) {
        if (freeWords.isEmpty()) {
            long size = (long) WORDS * RpcWire.UNIT_BYTES;
            long offset = room.applyAsLong(size);
            bytes += size;
            for (int i = 0; i < WORDS; i++) {
                freeWords.add(offset + (long) i * RpcWire.UNIT_BYTES);
            }
        }
        long word = freeWords.remove();
        usedWords.computeIfAbsent(peer, any -> new ArrayDeque<>()).add(word);
        return word;
    }

    private void giveBackWord(Peer peer, long word) {
        synchronized (freeWords) {
            ArrayDeque<Long> ofPeer = usedWords.get(peer);
            if (ofPeer != null && ofPeer.remove(word)) {
                freeWords.add(word);
            }
        }
    }

    /** Removes the bindings of a connection that the links have forgotten. */
    void remove(Peer peer) {
        for (Key key : holders.keySet()) {
            if (key.node() == peer.id()) {
                holders.computeIfPresent(key, (same, now) -> {
                    RpcBinding known = now.current;
                    if (known != null && known.peer == peer) {
                        now.current = null;
                        known.slots.close();
                    }
                    return now.users == 0 && now.current == null ? null : now;
                });
            }
        }
        synchronized (freeWords) {
            ArrayDeque<Long> ofPeer = usedWords.remove(peer);
            if (ofPeer != null) {
                freeWords.addAll(ofPeer);
            }
        }
    }

    /** How many functions have a binding, or are bound now. */
    int count() {
        return holders.size();
    }

    /** Arena bytes that the bindings use. */
    long bytes() {
        synchronized (freeWords) {
            return bytes;
        }
    }
}
