package dev.lite.tier.peer;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The connected nodes, the reasons why others are not connected, and the waits for connections. Any thread. */
final class PeerTable {
    /** So long after a node became known, its first connection is waited for. */
    private static final long FIRST_CONNECTION_NS = TimeUnit.SECONDS.toNanos(5);

    private final String self;
    private final AtomicReferenceArray<@Nullable Peer> peers;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    @GuardedBy("lock")
    private final Map<Integer, String> troubles = new HashMap<>();

    /** The last name of each node that was ever known; at most one for each id. */
    private final Map<Integer, String> names = new ConcurrentHashMap<>();

    /** When each of these nodes became known. */
    private final Map<Integer, Long> knownSinceNs = new ConcurrentHashMap<>();

    @GuardedBy("lock")
    private boolean suspended;

    @GuardedBy("lock")
    private boolean closed;

    /** @param self this node's name, for messages */
    PeerTable(String self, int peersMax) {
        this.self = self;
        this.peers = new AtomicReferenceArray<>(peersMax);
    }

    /** The connection to a node, or null. */
    @Nullable
    Peer get(int node) {
        return node >= 0 && node < peers.length() ? peers.get(node) : null;
    }

    /** Remembers a node's name. */
    void noteName(int node, String name) {
        names.put(node, name);
        knownSinceNs.putIfAbsent(node, System.nanoTime());
    }

    /** See {@link PeerLinks#nameOf}. */
    String nameOf(int node) {
        return names.getOrDefault(node, "#" + node);
    }

    /** Every connected node. */
    List<Peer> all() {
        List<Peer> connected = new ArrayList<>();
        for (int id = 0; id < peers.length(); id++) {
            Peer peer = peers.get(id);
            if (peer != null) {
                connected.add(peer);
            }
        }
        return connected;
    }

    /** Adds a connection in place of the node's former one; false if that has changed meanwhile. Call {@link #announce} next. */
    boolean replace(@Nullable Peer former, Peer peer) {
        return peers.compareAndSet(peer.id(), former, peer);
    }

    /** Wakes the threads that wait for an added connection. */
    void announce(Peer peer) {
        lock.lock();
        try {
            troubles.remove(peer.id());
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Removes a lost connection, unless its node already has another one. */
    void remove(Peer peer) {
        peers.compareAndSet(peer.id(), peer, null);
    }

    /** The reason why a node is not connected; null if it is connected or the reason is unknown. */
    @Nullable
    String trouble(int node) {
        lock.lock();
        try {
            return get(node) != null ? null : troubles.get(node);
        } finally {
            lock.unlock();
        }
    }

    /** Records why a node is not connected; false if that was the last known reason already. */
    @CanIgnoreReturnValue
    boolean noteTrouble(int node, String reason) {
        lock.lock();
        try {
            boolean isNew = !reason.equals(troubles.put(node, reason));
            changed.signalAll(); // to those that wait for a first connection
            return isNew;
        } finally {
            lock.unlock();
        }
    }

    /** While true, waits for a connection fail. */
    void setSuspended(boolean now) {
        lock.lock();
        try {
            suspended = now;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Makes all waits for a connection fail from now on. */
    void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** See {@link PeerLinks#awaitPeer}. */
    Peer await(int node, Deadline deadline) {
        return await(node, false, deadline);
    }

    /** See {@link PeerLinks#awaitFirst}. */
    Peer awaitFirst(int node, Deadline deadline) {
        return await(node, true, deadline);
    }

    /** @param first whether any trouble ends the wait, or that the node has been known for long */
    private Peer await(int node, boolean first, Deadline deadline) {
        lock.lock();
        try {
            while (true) {
                Peer peer = get(node);
                if (peer != null) {
                    return peer;
                }
                if (suspended) {
                    // A caller that waited before must not continue after the rejoin: the state may have changed.
                    throw new NodeUnreachableException("node %s has no connection to node %s: its registration is lost"
                            .formatted(self, nameOf(node)));
                }
                long remaining = deadline.remainingNs();
                if (first) {
                    long sinceNs = knownSinceNs.computeIfAbsent(node, any -> System.nanoTime());
                    remaining = Math.clamp(sinceNs + FIRST_CONNECTION_NS - System.nanoTime(), 0, remaining);
                }
                String trouble = troubles.get(node);
                if (remaining == 0 || closed || (first && trouble != null)) {
                    String why = closed ? "it is stopping" : trouble == null ? "none was made yet" : trouble;
                    throw new NodeUnreachableException(
                            "node %s has no connection to node %s: %s".formatted(self, nameOf(node), why));
                }
                changed.awaitNanos(remaining);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new NodeUnreachableException(
                    "interrupted while waiting for the connection to node " + nameOf(node), e);
        } finally {
            lock.unlock();
        }
    }
}
