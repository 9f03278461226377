package dev.lite.tier.peer;

import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.NodeRecord;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.tier.Deadline;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This node's connections. Of two nodes the one with the larger id connects, over the first fabric of its configuration
 * that the other one offers too; it tries again while the directory lists the other as live. A connection that the
 * directory forgets is kept: the directory may be the one that is ill.
 *
 * <p>Any thread may ask. Each fabric has a {@link PollRole}; one thread ("lite-links") makes connections.
 */
public final class PeerLinks implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PeerLinks.class);
    private static final int KIND_SHIFT = 28;
    private static final long RETRY_NS = 500_000_000;

    private final Hello self;
    private final String host;
    private final List<PeerListener> listeners = new CopyOnWriteArrayList<>();
    /** Whose immediates of each kind are; written before the start. */
    private final @Nullable PeerListener[] listenerOf = new @Nullable PeerListener[1 << (Integer.SIZE - KIND_SHIFT)];

    private final AtomicReferenceArray<@Nullable Peer> peers;
    private final Map<String, Fabric> fabrics = new LinkedHashMap<>();
    private final Map<String, PollRole> pollRoles = new LinkedHashMap<>();
    private final Thread connector;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    // Guarded by lock.
    private List<NodeRecord> live = List.of();
    private final Map<Integer, FabricEndpoint> connecting = new HashMap<>();
    private final Map<Integer, String> troubles = new TreeMap<>();
    private boolean closed;

    /**
     * Opens the fabrics.
     *
     * @param host this host's name, as {@link dev.lite.cluster.NodeAdvert#host}
     * @param config for every driver
     * @param options by a driver's name, what it gets instead of the options there
     * @param spins how often a poller looks in vain before it sleeps
     */
    public PeerLinks(
            Hello self,
            String host,
            List<FabricProvider> providers,
            FabricConfig config,
            Map<String, Map<String, String>> options,
            FabricMemory memory,
            int spins) {
        this.self = self;
        this.host = host;
        this.peers = new AtomicReferenceArray<>(self.peersMax());
        this.connector = Thread.ofPlatform().name("lite-links").daemon().unstarted(this::connectLoop);
        try {
            for (FabricProvider provider : providers) {
                Fabric fabric = provider.open(
                        config.withOptions(options.getOrDefault(provider.name(), config.options())),
                        new Handler(provider.name()));
                fabrics.put(provider.name(), fabric);
                fabric.register(memory);
                pollRoles.put(provider.name(), new PollRole(fabric, spins));
            }
        } catch (RuntimeException | Error e) {
            fabrics.values().forEach(Fabric::close);
            throw e;
        }
    }

    /** Starts polling and connecting. Listeners are added before. */
    public void start() {
        pollRoles.values().forEach(PollRole::start);
        connector.start();
    }

    /** Adds a listener; before {@link #start}. */
    public void addListener(PeerListener listener) {
        listeners.add(listener);
        for (int kind = 0; kind < listenerOf.length; kind++) {
            if (listener.takes(kind)) {
                listenerOf[kind] = listener;
            }
        }
    }

    /** Driver name → the address that peers connect to. */
    public Map<String, String> addresses() {
        Map<String, String> addresses = new LinkedHashMap<>();
        fabrics.forEach((name, fabric) -> addresses.put(name, fabric.localAddress()));
        return addresses;
    }

    /** The nodes to be connected with; the own one among them is passed over. Does not block. */
    public void setLive(List<NodeRecord> nodes) {
        lock.lock();
        try {
            live = List.copyOf(nodes);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The poll role of the preferred fabric, for who waits for peers on any; null when there is no fabric. */
    public @Nullable PollRole pollRole() {
        return pollRoles.isEmpty() ? null : pollRoles.values().iterator().next();
    }

    /** {@link PollRole#takenByStandBy}, of all fabrics together. */
    public long takenByStandBy() {
        long taken = 0;
        for (PollRole role : pollRoles.values()) {
            taken += role.takenByStandBy();
        }
        return taken;
    }

    /** The connection to a node, or null. */
    public @Nullable Peer peer(int node) {
        return node >= 0 && node < peers.length() ? peers.get(node) : null;
    }

    /** Every connected node. */
    public List<Peer> peers() {
        List<Peer> connected = new ArrayList<>();
        for (int id = 0; id < peers.length(); id++) {
            Peer peer = peers.get(id);
            if (peer != null) {
                connected.add(peer);
            }
        }
        return connected;
    }

    /** Why a node is not connected, in words; null when it is, or nothing is known. */
    public @Nullable String trouble(int node) {
        lock.lock();
        try {
            return peer(node) != null ? null : troubles.get(node);
        } finally {
            lock.unlock();
        }
    }

    /**
     * The connection to a node, waiting for it.
     *
     * @throws NodeUnreachableException when there is none at the deadline, naming the last reason
     */
    public Peer awaitPeer(int node, Deadline deadline) {
        Peer connected = peer(node);
        if (connected != null) {
            return connected;
        }
        lock.lock();
        try {
            while (true) {
                Peer peer = peer(node);
                if (peer != null) {
                    return peer;
                }
                long remaining = deadline.remainingNs();
                if (remaining == 0 || closed) {
                    throw new NodeUnreachableException("node %s has no connection to node %d: %s"
                            .formatted(self.node(), node, troubles.getOrDefault(node, "none was made yet")));
                }
                changed.awaitNanos(remaining);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new NodeUnreachableException("interrupted while waiting for the connection to node " + node, e);
        } finally {
            lock.unlock();
        }
    }

    private void connectLoop() {
        lock.lock();
        try {
            while (!closed) {
                for (NodeRecord node : live) {
                    connectIfMissing(node);
                }
                changed.awaitNanos(RETRY_NS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody interrupts this thread but a dying process
        } finally {
            lock.unlock();
        }
    }

    private void connectIfMissing(NodeRecord node) {
        int id = node.id();
        if (id >= self.nodeId() || peer(id) != null || connecting.containsKey(id)) {
            return;
        }
        for (Map.Entry<String, Fabric> candidate : fabrics.entrySet()) {
            String address = node.fabrics().get(candidate.getKey());
            boolean reachable = !candidate.getKey().equals("shm") || node.host().equals(host);
            if (address != null && reachable) {
                connect(node, candidate.getValue(), address);
                return;
            }
        }
        troubles.put(
                id,
                "node %s offers %s at host %s; this node has %s at host %s"
                        .formatted(node.name(), node.fabrics().keySet(), node.host(), fabrics.keySet(), host));
    }

    private void connect(NodeRecord node, Fabric fabric, String address) {
        try {
            connecting.put(node.id(), fabric.connect(address));
        } catch (RuntimeException e) {
            // A driver's defect must not end the attempts to reach the other nodes.
            log.error("connecting to node {} over {} failed", node.name(), fabric.name(), e);
            troubles.put(node.id(), e.toString());
        }
    }

    /** Cuts every connection and closes the fabrics. */
    @Override
    public void close() {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        pollRoles.values().forEach(PollRole::close);
    }

    /** Runs on whichever thread has the poll role of one fabric. */
    private final class Handler implements FabricHandler {
        private final String fabric;

        Handler(String fabric) {
            this.fabric = fabric;
        }

        @Override
        public void connected(FabricEndpoint endpoint, boolean accepted) {
            Hello hello;
            try {
                hello = Hello.decode(endpoint.hello());
            } catch (IllegalArgumentException e) {
                log.warn("refused a peer over {}: {}", fabric, e.getMessage());
                endpoint.close();
                return;
            }
            String objection = objection(hello);
            if (objection != null) {
                log.warn("refused node {} over {}: {}", hello.node(), fabric, objection);
                noteObjection(endpoint, hello.nodeId(), objection);
                endpoint.close();
                return;
            }
            Peer peer = new Peer(hello, endpoint, fabric, Objects.requireNonNull(pollRoles.get(fabric)));
            endpoint.attach(peer);
            Peer former = peers.getAndSet(peer.id(), peer);
            if (former != null) {
                former.endpoint().close(); // the peer knows better than we do that the old one is dead
            }
            log.info(
                    "connected node={} id={} fabric={} mapped={}",
                    hello.node(),
                    peer.id(),
                    fabric,
                    endpoint.mappedAddress() != 0);
            listeners.forEach(listener -> listener.peerConnected(peer));
            lock.lock();
            try {
                connecting.remove(peer.id());
                troubles.remove(peer.id());
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }

        private @Nullable String objection(Hello hello) {
            if (!hello.cluster().equals(self.cluster())) {
                return "it belongs to cluster \"%s\", this node to \"%s\"".formatted(hello.cluster(), self.cluster());
            }
            if (hello.nodeId() < 0 || hello.nodeId() >= self.peersMax()) {
                return "its id is %d; this node serves ids below %d (lite.node.limits.nodes)"
                        .formatted(hello.nodeId(), self.peersMax());
            }
            if (self.nodeId() >= hello.peersMax()) {
                return "it serves ids below %d (lite.node.limits.nodes); this node's is %d"
                        .formatted(hello.peersMax(), self.nodeId());
            }
            return hello.nodeId() == self.nodeId() ? "it has this node's id, " + self.nodeId() : null;
        }

        @Override
        public void disconnected(FabricEndpoint endpoint, String reason) {
            if (endpoint.attachment() instanceof Peer peer) {
                peers.compareAndSet(peer.id(), peer, null);
                log.info(
                        "disconnected node={} id={} fabric={} reason=\"{}\"",
                        peer.hello().node(),
                        peer.id(),
                        fabric,
                        reason);
                noteTrouble(peer.id(), reason); // first: the listeners' exceptions tell it
                listeners.forEach(listener -> listener.peerDisconnected(peer, reason));
            }
            lock.lock();
            try {
                connecting.entrySet().removeIf(entry -> {
                    boolean same = entry.getValue() == endpoint;
                    if (same) {
                        troubles.put(entry.getKey(), reason);
                    }
                    return same;
                });
                // No signal: the next attempt is the timer's, so that a refusing peer is not stormed.
            } finally {
                lock.unlock();
            }
        }

        /** The reason stays: that this node then closes the connection itself is not worth telling. */
        private void noteObjection(FabricEndpoint endpoint, int node, String objection) {
            lock.lock();
            try {
                connecting.values().remove(endpoint);
                troubles.put(node, objection);
            } finally {
                lock.unlock();
            }
        }

        private void noteTrouble(int node, String reason) {
            lock.lock();
            try {
                troubles.put(node, reason);
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void immediate(FabricEndpoint endpoint, int immediate) {
            PeerListener listener = listenerOf[immediate >>> KIND_SHIFT];
            if (listener != null && endpoint.attachment() instanceof Peer peer) {
                listener.immediateArrived(peer, immediate);
            }
        }

        @Override
        public void completed(FabricEndpoint endpoint, long context) {
            listeners.forEach(listener -> listener.postEnded(context, null));
        }

        @Override
        public void failed(FabricEndpoint endpoint, long context, FabricError error) {
            listeners.forEach(listener -> listener.postEnded(context, error));
        }
    }
}
