package dev.lite.tier.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.Epoch;
import dev.lite.cluster.NodeRecord;
import dev.lite.fabric.AddressRange;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.Post;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.os.waiting.Unrecoverable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * This node's connections. Of two nodes the one with the larger id connects, over the first configured fabric that the
 * other node also offers. It retries while the directory lists the other node as live. If the directory no longer lists
 * a connected node, the connection stays: the directory may be at fault. If an {@link Epoch} removes a process, its
 * connections are cut, and this node neither makes nor accepts new ones ({@link #setEpoch}).
 *
 * <p>A connection is used only when both nodes have admitted it; each sends the other its admission. A removed process that
 * does not know of its removal can still connect, but a node that knows never admits it. So it cannot touch the memory of
 * that node, however late that node closes the connection.
 *
 * <p>Any thread. Each fabric has a {@link PollRole}; one thread ("lite-links") makes connections.
 */
public final class PeerLinks implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PeerLinks.class);

    /** The minimum time between two connections that this node makes to one registration of a peer. */
    private static final long RETRY_NS = 500_000_000;

    private static final long AWAY_NS = 10_000_000_000L;

    private final Hello self;
    private final @Nullable PeerIdentity identity;
    private final List<PeerListener> listeners = new CopyOnWriteArrayList<>();
    private final HandlerTable handlers = new HandlerTable();
    private final PeerTable peers;
    private final Fabrics fabrics;
    private final Thread connector;

    private final Absences absences = new Absences();
    private final OwnerWaits ownerWaits;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    /** Replaced only under the lock. */
    private volatile Membership membership = Membership.UNKNOWN;

    @GuardedBy("lock")
    private final Map<Integer, FabricEndpoint> connecting = new HashMap<>();

    /** The last attempt to connect to each node. Neither a connection nor a refusal removes it. */
    @GuardedBy("lock")
    private final Map<Integer, Attempt> attempts = new HashMap<>();

    /** Admitted by this node and not yet reported as disconnected. In practice at most two per node: an old and a new one. */
    @GuardedBy("lock")
    private final Set<Peer> linked = new HashSet<>();
    /** Processes of this host that may have this node's memory mapped: each that ever connected and has not ended. */
    @GuardedBy("lock")
    private final Map<Remote, FabricEndpoint> mappers = new HashMap<>();

    @GuardedBy("lock")
    private boolean suspended;

    @GuardedBy("lock")
    private boolean closed;

    /** An attempt to connect to a registration of a node. */
    private record Attempt(long incarnation, long madeNs) {}

    /** A process of a node, by the number in its {@link Hello} and its registrations. */
    private record Remote(int node, long process) {}

    /**
     * Opens the fabrics.
     *
     * @param host this host's name, as in {@link dev.lite.cluster.NodeAdvert#host}
     * @param config configuration for every driver
     * @param options options by driver name; they replace those in {@code config}
     * @param spins empty polls before a poller blocks
     */
    public PeerLinks(
            Hello self,
            String host,
            List<FabricProvider> providers,
            FabricConfig config,
            Map<String, Map<String, String>> options,
            FabricMemory memory,
            int spins) {
        this(self, host, null, providers, config, options, memory, spins);
    }

    /**
     * Opens the fabrics.
     *
     * @param identity proves this node's identity, and checks that of peers on other hosts; null: neither
     */
    public PeerLinks(
            Hello self,
            String host,
            @Nullable PeerIdentity identity,
            List<FabricProvider> providers,
            FabricConfig config,
            Map<String, Map<String, String>> options,
            FabricMemory memory,
            int spins) {
        this.self = self;
        this.identity = identity;
        this.peers = new PeerTable(self.node(), self.peersMax());
        this.ownerWaits = new OwnerWaits(peers, absences, this::isLive);
        this.connector = RepeatingThread.unstarted("lite-links", this::connectMissing, log::error);
        this.fabrics =
                new Fabrics(host, providers, config.withIdentity(identity), options, memory, Handler::new, spins);
    }

    /** Starts polling and connecting. Add listeners first. */
    public void start() {
        fabrics.start();
        connector.start();
    }

    /** Adds a listener. Call before {@link #start}. */
    public void addListener(PeerListener listener) {
        listeners.add(listener);
    }

    /**
     * Registers the handler for immediates of a kind. Call before {@link #start}.
     *
     * @throws IllegalStateException if the kind already has a handler
     */
    public void onImmediate(ImmediateKind kind, ImmediateHandler handler) {
        handlers.register(kind, handler);
    }

    /**
     * Registers the handler for completions of a poster's posts. Call before {@link #start}.
     *
     * @throws IllegalStateException if the poster already has a handler
     */
    public void onPostEnd(Poster poster, PostHandler handler) {
        handlers.register(poster, handler);
    }

    /** The address that peers connect to, by driver name. */
    public Map<String, String> addresses() {
        return fabrics.addresses();
    }

    /** Sets the nodes to connect to. Ignores this node itself. Does not block. */
    public void setLive(List<NodeRecord> nodes) {
        if (identity != null) {
            identity.setLive(nodes);
        }
        lock.lock();
        try {
            membership = membership.withLive(nodes);
            absences.setLive(nodes);
            nodes.forEach(node -> peers.noteName(node.id(), node.name()));
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Cuts the connections to all processes that the epoch removed, and rejects new ones. Takes as long as it takes to
     * close their endpoints.
     */
    public void setEpoch(Epoch newEpoch) {
        List<Peer> removed;
        lock.lock();
        try {
            if (newEpoch.number() < membership.epoch().number()) {
                return; // another thread already set a later epoch
            }
            membership = membership.withEpoch(newEpoch);
            removed = linked.stream()
                    .filter(peer -> Membership.isRemoved(newEpoch, peer.id(), peer.incarnation()))
                    .toList();
        } finally {
            lock.unlock();
        }
        // Not under the lock: close may wait for the peer, whose handler may wait for the lock.
        for (Peer peer : removed) {
            log.info(
                    "cutting the connection with node={} removed-by={}",
                    peer.hello().node(),
                    newEpoch.number());
            peer.endpoint().close();
        }
    }

    /**
     * Whether no process that the epoch removed can access this node's memory any more: no connection is left, and each
     * such process that had the memory mapped has ended or registered again. A process gives up its holdings before it
     * registers again.
     */
    public boolean isCut(Epoch by) {
        return isCut(node -> true, by);
    }

    /** {@link #isCut} for the processes that the epoch removed of one node only. */
    boolean isCutFrom(int node, Epoch by) {
        return isCut(other -> other == node, by);
    }

    private boolean isCut(IntPredicate nodes, Epoch by) {
        lock.lock();
        try {
            mappers.values().removeIf(endpoint -> !endpoint.isMappedByPeer());
            return membership.epoch().number() >= by.number() // so that no process that it removed is admitted any more
                    && linked.stream()
                            .noneMatch(peer ->
                                    nodes.test(peer.id()) && Membership.isRemoved(by, peer.id(), peer.incarnation()))
                    && mappers.keySet().stream()
                            .noneMatch(remote -> nodes.test(remote.node())
                                    && Membership.isRemoved(
                                            by,
                                            remote.node(),
                                            membership.incarnationOf(remote.node(), remote.process())));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Cuts every connection, and rejects new ones until {@link #resume}. Takes as long as it takes to close the
     * endpoints.
     */
    public void suspend() {
        List<FabricEndpoint> all = new ArrayList<>();
        lock.lock();
        try {
            suspended = true;
            peers.setSuspended(true);
            linked.forEach(peer -> all.add(peer.endpoint()));
            all.addAll(connecting.values());
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        all.forEach(FabricEndpoint::close);
    }

    /** Whether every connection that {@link #suspend} cut is gone. */
    public boolean isSuspended() {
        lock.lock();
        try {
            return suspended && linked.isEmpty() && connecting.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /** Ends {@link #suspend}. */
    public void resume() {
        lock.lock();
        try {
            suspended = false;
            peers.setSuspended(false);
            attempts.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The current registration of a connected process; 0 if unknown. */
    public long incarnationOf(Peer peer) {
        return membership.incarnationOf(peer.id(), peer.hello().instance());
    }

    /**
     * The poll role of the preferred fabric, for threads that wait for peers on any fabric; null if there is no fabric.
     */
    public @Nullable PollRole pollRole() {
        return fabrics.preferredPollRole();
    }

    /** The sum of {@link PollRole#standbyWakeups} over all fabrics. */
    public long standbyWakeups() {
        return fabrics.standbyWakeups();
    }

    /**
     * Why no lanes can be reserved for a priority, with the value and the limit; empty if they can. Connections over drivers without
     * lanes do not matter if there is one with lanes.
     */
    public Optional<String> whyNoLanes() {
        return fabrics.whyNoLanes(peers());
    }

    /** The connection to a node, or null. */
    public @Nullable Peer peer(int node) {
        return peers.get(node);
    }

    /** The name of a node, also of one that left; its number if this node never learned the name. */
    public String nameOf(int node) {
        return peers.nameOf(node);
    }

    /** Every connected node. */
    public List<Peer> peers() {
        return peers.all();
    }

    /** The reason why a node is not connected; null if it is connected or the reason is unknown. */
    public @Nullable String trouble(int node) {
        return peers.trouble(node);
    }

    /**
     * Returns the connection to a node. Waits for it if necessary.
     *
     * @throws NodeUnreachableException if there is none at the deadline; the message names the last reason
     */
    public Peer awaitPeer(int node, Deadline deadline) {
        Peer connected = peer(node);
        return connected != null ? connected : peers.await(node, deadline);
    }

    /**
     * Returns the connection to a node. Waits only for the first one, for a few seconds after the node became known, and until an
     * attempt fails. So calls at the start of a cluster succeed, and calls to a node that was lost fail at once.
     *
     * @throws NodeUnreachableException if there is none, with the reason
     */
    public Peer awaitFirst(int node, Deadline deadline) {
        Peer connected = peer(node);
        return connected != null ? connected : peers.awaitFirst(node, deadline);
    }

    /**
     * {@link #awaitPeer} for a node that owns memory. Waits no longer than the {@linkplain #setReturnGrace grace time} for a node that
     * left the cluster.
     *
     * @throws LmrUnavailableException if there is none at the deadline or the end of the grace time, and the node is no longer in the
     *     cluster
     * @throws dev.lite.api.LiteTimeoutException if there is none at the deadline, but the node is in the cluster
     * @throws NodeUnreachableException if this node's own registration is lost, or this node is stopping
     */
    public Peer awaitOwner(int node, Deadline deadline) {
        Peer connected = peer(node); // the hot path
        return connected != null ? connected : ownerWaits.await(node, null, deadline);
    }

    /**
     * {@link #awaitOwner(int, Deadline)} that ends also when nobody wants the connection any more.
     *
     * @param notWanted returns why nobody wants it, or null; asked a few times a second. Null if it is always wanted
     * @throws LmrUnavailableException also then
     */
    public Peer awaitOwner(int node, @Nullable Supplier<@Nullable String> notWanted, Deadline deadline) {
        Peer connected = peer(node);
        return connected != null ? connected : ownerWaits.await(node, notWanted, deadline);
    }

    /** Sets how long operations wait for a node that left the cluster; the default is 30 s. */
    public void setReturnGrace(Duration grace) {
        absences.setGrace(grace);
    }

    /** Whether a node has been out of the cluster for longer than a restart takes. */
    public boolean isAway(int node) {
        return isAwayFor(node, AWAY_NS);
    }

    /** Whether a node has been out of the cluster for longer than this time, in nanoseconds. */
    public boolean isAwayFor(int node, long timeNs) {
        return !isLive(node) && absences.awayNs(node) > timeNs;
    }

    /** Whether a node has left the cluster and is not connected, but {@link #awaitOwner} waits for it: it may return. */
    public boolean mayReturn(int node) {
        return peer(node) == null && !isLive(node) && absences.waitNs(node) > 0;
    }

    /** Whether the directory's last report lists a node. */
    public boolean isLive(int node) {
        return membership.isLive(node);
    }

    /**
     * The memories of nodes that ended for good, which are still mapped here; see {@link dev.lite.fabric.Fabric#lostMemories}. No
     * {@link #peer} has one of them.
     */
    public List<AddressRange> lostMemories() {
        List<AddressRange> lost = fabrics.lostMemories();
        Set<Long> used = new HashSet<>();
        lock.lock();
        try {
            linked.forEach(peer -> used.add(peer.endpoint().mappedAddress()));
        } finally {
            lock.unlock();
        }
        return lost.stream().filter(memory -> !used.contains(memory.start())).toList();
    }

    /** Unmaps one of the {@link #lostMemories}, which nobody uses any more. */
    public void unmap(AddressRange lost) {
        fabrics.unmap(lost);
    }

    /** Connects to the peers that lack a connection, at every change and again after a while. Returns when this is closed. */
    private boolean connectMissing() throws InterruptedException {
        lock.lock();
        try {
            while (!closed) {
                for (NodeRecord node : membership.live()) {
                    connectIfMissing(node);
                }
                changed.awaitNanos(RETRY_NS);
            }
            return false;
        } finally {
            lock.unlock();
        }
    }

    @GuardedBy("this.lock")
    private void connectIfMissing(NodeRecord node) {
        int id = node.id();
        if (id >= self.nodeId() || peer(id) != null || connecting.containsKey(id) || suspended) {
            return;
        }
        if (membership.isRemoved(id, node.incarnation())) {
            peers.noteTrouble(id, membership.removal(node.name()));
            return;
        }
        Fabrics.Route route = fabrics.routeTo(node);
        if (route == null) {
            peers.noteTrouble(id, fabrics.whyNoRoute(node));
        } else if (isDue(node)) {
            connect(node, route.fabric(), route.address());
        }
    }

    /**
     * Whether enough time has passed since the last attempt. A peer may refuse a connection only after both sides have
     * made it. Every connection wakes the connecting thread, so without this bound refused connections cause each other.
     */
    @GuardedBy("this.lock")
    private boolean isDue(NodeRecord node) {
        Attempt last = attempts.get(node.id());
        return last == null
                || last.incarnation() != node.incarnation()
                || System.nanoTime() - last.madeNs() >= RETRY_NS;
    }

    @GuardedBy("this.lock")
    private void connect(NodeRecord node, Fabric fabric, String address) {
        attempts.put(node.id(), new Attempt(node.incarnation(), System.nanoTime()));
        try {
            connecting.put(node.id(), fabric.connect(address));
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            // A driver defect must not end the attempts to reach the other nodes.
            log.error("connecting to node {} over {} failed", node.name(), fabric.name(), e);
            peers.noteTrouble(node.id(), e.toString());
        }
    }

    /** Cuts every connection and closes the fabrics. */
    @Override
    public void close() {
        if (stop()) {
            fabrics.close();
        }
    }

    /** {@link #close} after {@link #suspend}, but the memory of peers stays mapped until the process ends. */
    public void closeButKeepFabrics() {
        boolean unused = stop();
    }

    /** False if this is closed already. */
    private boolean stop() {
        lock.lock();
        try {
            if (closed) {
                return false;
            }
            closed = true;
            peers.close();
            changed.signalAll();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** The node is about to stop: from now on, all waits for a connection fail. */
    public void endWaits() {
        peers.close();
    }

    /** A listener that fails keeps the news from nobody else, and the connection stays known as what it is. */
    private void notifyListeners(Consumer<PeerListener> news) {
        for (PeerListener listener : listeners) {
            try {
                news.accept(listener);
            } catch (RuntimeException | Error e) {
                failed(listener, e);
            }
        }
    }

    private static void failed(PeerListener listener, Throwable why) {
        try {
            Unrecoverable.report(why);
            log.error("{} failed at the news of a connection", listener, why);
        } catch (RuntimeException | Error e) {
            // no memory for a line: the others must get the news
        }
    }

    /** Runs on the thread that holds the fabric's poll role. */
    private final class Handler implements FabricHandler {
        private final String fabric;

        Handler(String fabric) {
            this.fabric = fabric;
        }

        @Override
        public void connected(FabricEndpoint endpoint, boolean accepted) {
            boolean greeted = false;
            try {
                greet(endpoint);
                greeted = true;
            } finally {
                if (!greeted) { // for example no memory: else nobody would use the connection, or make another one
                    endpoint.close();
                }
            }
        }

        private void greet(FabricEndpoint endpoint) {
            Hello hello;
            try {
                hello = Hello.decode(endpoint.hello());
            } catch (Hello.OtherVersionException e) {
                refuseVersion(endpoint, e);
                return;
            } catch (IllegalArgumentException e) {
                log.warn("refused a peer over {}: {}", fabric, e.getMessage());
                endpoint.close();
                return;
            }
            Peer peer = admit(hello, endpoint);
            if (peer == null) {
                return;
            }
            Post post = endpoint.writeImm(0, 0, 0, ImmediateKind.ADMITTED.with(0), Poster.NOBODY);
            if (post == Post.BUSY) {
                endpoint.close(); // nothing was posted before; the next connection tries again
            }
        }

        private void admitted(Peer peer) {
            boolean joined = false;
            try {
                join(peer);
                joined = true;
            } finally {
                if (!joined) { // for example no memory: else nobody would use the connection, or make another one
                    peer.endpoint().close();
                }
            }
        }

        /** A node has admitted a connection that this node has admitted, too: from now on it is used. */
        private void join(Peer peer) {
            peer.setAdmitted();
            FabricEndpoint endpoint = peer.endpoint();
            Peer former;
            do {
                former = peers.get(peer.id());
                if (former != null) {
                    // The peer connects again only if the old connection is dead. First: both use the same send
                    // buffers.
                    former.endpoint().close();
                }
            } while (!peers.replace(former, peer));
            log.info(
                    "connected node={} id={} fabric={} mapped={}",
                    peer.hello().node(),
                    peer.id(),
                    fabric,
                    endpoint.mappedAddress() != 0);
            notifyListeners(listener -> listener.peerConnected(peer));
            lock.lock();
            try {
                connecting.remove(peer.id());
                changed.signalAll();
            } finally {
                lock.unlock();
            }
            peers.announce(peer);
        }

        /**
         * Returns null and closes the connection if there is an objection. Atomic, so that a removal misses no peer.
         */
        private @Nullable Peer admit(Hello hello, FabricEndpoint endpoint) {
            lock.lock();
            try {
                if (endpoint.isMappedByPeer()) {
                    mappers.put(new Remote(hello.nodeId(), hello.instance()), endpoint);
                }
                long incarnation = membership.incarnationOf(hello.nodeId(), hello.instance());
                String objection = objection(hello, incarnation);
                if (objection != null) {
                    log.warn("refused node {} over {}: {}", hello.node(), fabric, objection);
                    connecting.values().remove(endpoint);
                    peers.noteTrouble(
                            hello.nodeId(), objection); // this reason stays; the close below does not replace it
                    endpoint.close();
                    return null;
                }
                Peer peer = new Peer(hello, incarnation, endpoint, fabric, fabrics.pollRole(fabric));
                endpoint.attach(peer); // first: the end of the connection then finds it
                linked.add(peer);
                return peer;
            } finally {
                lock.unlock();
            }
        }

        @GuardedBy("PeerLinks.this.lock")
        private @Nullable String objection(Hello hello, long incarnation) {
            if (suspended) {
                return "this node's own registration is lost";
            }
            return membership.isRemoved(hello.nodeId(), incarnation)
                    ? membership.removal(hello.node())
                    : self.objectionTo(hello);
        }

        /** The health must say which of both to upgrade. The peer tries again and again, so the log says it once. */
        private void refuseVersion(FabricEndpoint endpoint, Hello.OtherVersionException e) {
            String reason = String.valueOf(e.getMessage());
            boolean isNew;
            lock.lock();
            try {
                int id = connecting.entrySet().stream()
                        .filter(entry -> entry.getValue() == endpoint)
                        .map(Map.Entry::getKey)
                        .findFirst()
                        .orElse(e.nodeId());
                connecting.remove(id, endpoint);
                isNew = id < 0 || id >= self.peersMax() || peers.noteTrouble(id, reason);
            } finally {
                lock.unlock();
            }
            log.atLevel(isNew ? Level.WARN : Level.DEBUG).log("refused a peer over {}: {}", fabric, reason);
            endpoint.close();
        }

        @Override
        public void disconnected(FabricEndpoint endpoint, String reason) {
            Peer peer = endpoint.attachment() instanceof Peer its ? its : null;
            try {
                if (peer != null && peer.hasAdmitted()) {
                    ended(peer, reason);
                }
            } finally { // else this node would not connect again, and an epoch would wait for ever
                forget(endpoint, peer, reason);
            }
        }

        private void ended(Peer peer, String reason) {
            peers.remove(peer);
            try {
                peers.noteTrouble(peer.id(), reason); // first: the listeners' exceptions name the reason
                log.info(
                        "disconnected node={} id={} fabric={} reason=\"{}\"",
                        peer.hello().node(),
                        peer.id(),
                        fabric,
                        reason);
            } finally { // also without memory for that: calls wait for it
                notifyListeners(listener -> listener.peerDisconnected(peer, reason));
            }
        }

        private void forget(FabricEndpoint endpoint, @Nullable Peer peer, String reason) {
            lock.lock();
            try {
                if (peer != null) {
                    linked.remove(peer);
                }
                Iterator<Map.Entry<Integer, FabricEndpoint>> all =
                        connecting.entrySet().iterator();
                while (all.hasNext()) {
                    Map.Entry<Integer, FabricEndpoint> entry = all.next();
                    if (entry.getValue() == endpoint) {
                        all.remove();
                        peers.noteTrouble(entry.getKey(), reason);
                    }
                }
                // No signal: the timer starts the next attempt, so that a refusing peer is not flooded.
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void immediate(FabricEndpoint endpoint, int immediate) {
            if (endpoint.attachment() instanceof Peer peer) {
                if (!peer.hasAdmitted()) {
                    admitted(peer); // nodes send nothing else before ADMITTED, but it may be overtaken
                }
                handlers.arrived(peer, immediate);
            }
        }

        @Override
        public void completed(FabricEndpoint endpoint, long context) {
            handlers.ended(context, null);
        }

        @Override
        public void failed(FabricEndpoint endpoint, long context, FabricError error) {
            handlers.ended(context, error);
        }
    }
}
