package dev.lite.tier.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.cluster.NodeRecord;
import dev.lite.fabric.FabricIdentity;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Compares peers with their registrations: the key that a peer has, its name, its process, and the address that was dialled. Any thread.
 *
 * <p>The last registration of each node is remembered, also when the node is not registered now: while ZooKeeper is away, nodes connect
 * again with the registrations that they had. At most one for each id. A node whose registration has no key is only compared with its
 * name and address; only programs that keep a directory of their own register so.
 */
public final class PeerIdentity implements FabricIdentity {
    private final NodeKey key;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    @GuardedBy("lock")
    private final Map<Integer, NodeRecord> registrations = new HashMap<>();

    /** @param key of this node */
    public PeerIdentity(NodeKey key) {
        this.key = key;
    }

    /** The registered nodes. */
    void setLive(List<NodeRecord> nodes) {
        lock.lock();
        try {
            nodes.forEach(node -> registrations.put(node.id(), node));
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public byte[] publicKey() {
        return key.publicKey();
    }

    @Override
    public byte[] sign(byte[] message) {
        return key.sign(message);
    }

    @Override
    public @Nullable String objectionTo(Peer peer, Duration timeout) {
        Deadline deadline = Deadline.in(timeout);
        try {
            Hello hello = Hello.decode(peer.hello());
            NodeRecord node = await(hello.nodeId(), hello.instance(), deadline);
            if (node == null) {
                return "it says that it is node %s (id %d), but that process of it is not registered"
                        .formatted(hello.node(), hello.nodeId());
            }
            return node.name().equals(hello.node())
                    ? objectionTo(peer, node)
                    : "it says that it is node %s, but id %d belongs to node %s"
                            .formatted(hello.node(), node.id(), node.name());
        } catch (Hello.OtherVersionException other) {
            // The links refuse it and tell both operators which node to upgrade; but only if it is the node of its id.
            NodeRecord node = await(other.nodeId(), null, deadline);
            return node == null || node.key().isEmpty() ? other.getMessage() : objectionTo(peer, node);
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
    }

    private static @Nullable String objectionTo(Peer peer, NodeRecord node) {
        if (!node.key().isEmpty()
                && !Base64.getEncoder().encodeToString(peer.publicKey()).equals(node.key())) {
            return "it says that it is node %s, but it does not have the key of that node".formatted(node.name());
        }
        String dialled = peer.dialled();
        if (dialled != null && !dialled.equals(node.fabrics().get(peer.fabric()))) {
            return "it is node %s, but %s is not the address of that node".formatted(node.name(), dialled);
        }
        Set<String> certified = peer.certified();
        if (certified != null && certified.stream().noneMatch(node.name()::equalsIgnoreCase)) {
            return "its certificate is for %s, and not for node %s".formatted(certified, node.name());
        }
        return null;
    }

    /**
     * The registration of a node; null if there is none at the deadline.
     *
     * @param process whose registration it must be; null: any
     */
    private @Nullable NodeRecord await(int id, @Nullable Long process, Deadline deadline) {
        lock.lock();
        try {
            while (true) {
                NodeRecord node = registrations.get(id);
                if (node != null
                        && (process == null
                                || node.process() == process
                                || node.key().isEmpty())) {
                    return node;
                }
                long remainingNs = deadline.remainingNs();
                if (remainingNs == 0) {
                    return null;
                }
                changed.awaitNanos(remainingNs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        } finally {
            lock.unlock();
        }
    }
}
