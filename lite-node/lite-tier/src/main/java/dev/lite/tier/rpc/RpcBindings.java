package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.control.ControlMessage;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Peer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * This node's bindings to rings on other nodes: one per function, node and principal, shared by all its callers. Any
 * thread.
 *
 * <p>Limit: {@value RpcWire#RINGS_MAX} per node. Each takes a cache line of the arena.
 */
final class RpcBindings {
    private static final int WORDS = 64;
    private static final int GENERATION_MAX = 0xffff;

    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final ControlChannel channel;
    private final Map<Key, Holder> holders = new ConcurrentHashMap<>();

    @GuardedBy("freeWords")
    private final ArrayDeque<Long> freeWords = new ArrayDeque<>();

    @GuardedBy("freeWords")
    private int generation;

    @GuardedBy("freeWords")
    private long bytes;

    private record Key(int node, String function, String principal) {}

    private static final class Holder {
        final ReentrantLock binding = new ReentrantLock();
        volatile @Nullable RpcBinding current;
    }

    RpcBindings(NodeArena arena, ArenaAllocator allocator, ControlChannel channel) {
        this.arena = arena;
        this.allocator = allocator;
        this.channel = channel;
    }

    /** The binding over this connection. Asks the node for one if there is none yet. */
    RpcBinding get(Peer peer, String function, String principal, long deadlineNs) {
        Key key = new Key(peer.id(), function, principal);
        Holder holder = holders.computeIfAbsent(key, any -> new Holder());
        RpcBinding known = holder.current;
        if (known != null && known.peer == peer) {
            return known;
        }
        try {
            if (!holder.binding.tryLock(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS)) {
                throw new LiteTimeoutException("binding the function \"%s\" at node %s took longer than the deadline"
                        .formatted(function, peer.hello().node()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new NodeUnreachableException("interrupted while binding the function \"%s\"".formatted(function), e);
        }
        try {
            known = holder.current;
            if (known != null && known.peer == peer) {
                return known;
            }
            RpcBinding made = bind(peer, function, principal, deadlineNs);
            holder.current = made;
            return made;
        } finally {
            if (holder.current == null) {
                holders.remove(key, holder); // so that names without a server do not accumulate
            }
            holder.binding.unlock();
        }
    }

    private RpcBinding bind(Peer peer, String function, String principal, long deadlineNs) {
        long word;
        int number;
        synchronized (freeWords) {
            word = takeWord();
            generation = generation == GENERATION_MAX ? 1 : generation + 1;
            number = generation;
        }
        boolean bound = false;
        try {
            Duration left = Duration.ofNanos(Math.max(0, deadlineNs - System.nanoTime()));
            ControlMessage request = new ControlMessage()
                    .putLong(word)
                    .putInt(number)
                    .putName("the function", function)
                    .putName("the principal", principal);
            ControlMessage ring = channel.call(peer.id(), ControlKind.BIND_FUNCTION, request, Deadline.in(left));
            RpcBinding made = new RpcBinding(peer, ring.getInt(), ring.getLong(), arena.address(), word, number);
            bound = true;
            return made;
        } finally {
            if (!bound) {
                giveBackWord(word);
            }
        }
    }

    @GuardedBy("this.freeWords")
    private long takeWord() {
        if (freeWords.isEmpty()) {
            long size = (long) WORDS * RpcWire.UNIT_BYTES;
            long offset = allocator
                    .allocate(ArenaAllocator.INTERNAL_LMR, size, 1, 1)
                    .getFirst()
                    .offset();
            bytes += size;
            for (int i = 0; i < WORDS; i++) {
                freeWords.add(offset + (long) i * RpcWire.UNIT_BYTES);
            }
        }
        return freeWords.remove();
    }

    private void giveBackWord(long word) {
        synchronized (freeWords) {
            freeWords.add(word);
        }
    }

    /** Removes the bindings of a lost connection. */
    void remove(Peer peer) {
        holders.values().removeIf(holder -> {
            RpcBinding known = holder.current;
            if (known == null || known.peer != peer) {
                return false;
            }
            giveBackWord(known.headOffset);
            return true;
        });
    }

    /** Arena bytes that the bindings use. */
    long bytes() {
        synchronized (freeWords) {
            return bytes;
        }
    }
}
