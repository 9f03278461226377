package dev.lite.fabric.rdma;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricException;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.driver.Connections;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.driver.Waiting;
import dev.lite.fabric.rdma.verbs.Device;
import dev.lite.fabric.rdma.verbs.MemoryLock;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.os.OsException;
import dev.lite.os.waiting.Unrecoverable;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The RDMA fabric of one node; see the package for how it works. */
final class RdmaFabric implements Fabric, Connections.Driver<RdmaEndpoint, RdmaLink> {
    /** Short enough to complete before the peer timeout at 10 MiB/s. */
    static final long OPERATION_BYTES_MAX = 16 << 20;

    /** "LITERDM" and the version of the protocol. */
    static final long PROTOCOL = 0x4C49544552444D02L;

    /**
     * A poll this long after the previous one first checks for ended peers; a close waits twice as long for an answer. The first poll after
     * a wait may check, too. That costs less than reading the clock each time a thread takes the poll role.
     */
    private static final long STALL_NS = RdmaEndpoint.CLOSE_WAIT.toNanos() / 2;
    /** Ticks per peer timeout. A peer is probed after one silent tick and disconnected after all of them. */
    private static final int TICKS = 3;

    private final FabricConfig config;
    private final long protocol;
    private final RdmaOptions options;
    private final FabricHandler handler;
    private final InetAddress host;
    private final Verbs verbs;
    private final Waiting waiting;
    private final Lanes lanes;
    private final long tickNs;

    private final Connections<RdmaEndpoint, RdmaLink> connections;
    private volatile @Nullable RdmaConnector connector;
    private volatile @Nullable Resources resources;
    private volatile String address = "";

    private volatile @Nullable Delivery delivery;

    // Used by the poll role, like all following fields.
    private final List<RdmaEndpoint> live = new ArrayList<>();

    /** Ended endpoints whose lanes are destroyed, and destroyed lanes that never belonged to an endpoint. */
    private final ArrayDeque<Gone> gone = new ArrayDeque<>();

    private long lastPollNs = System.nanoTime();
    private long lastTickNs = lastPollNs;

    /**
     * Waits until none of its completions can arrive any more: since {@code since}, the queue was empty once, or as many completions were
     * taken as the queue holds.
     */
    private record Gone(
            @Nullable RdmaEndpoint endpoint, @Nullable RdmaLane lane, long since) {}

    RdmaFabric(FabricConfig config, RdmaOptions options, FabricHandler handler) {
        this(config, options, handler, PROTOCOL);
    }

    /** For tests: uses another protocol number. */
    RdmaFabric(FabricConfig config, RdmaOptions options, FabricHandler handler, long protocol) {
        this.config = config;
        this.protocol = protocol;
        this.options = options;
        this.handler = handler;
        host = Device.address(Device.all(), options.device(), options.host());
        if (options.secret() == null) {
            throw new FabricException(
                    "the RDMA fabric would give this node's memory to everybody who can connect to %s: set %s"
                            .formatted(host.getHostAddress(), RdmaOptions.SECRET),
                    null);
        }
        tickNs = TimeUnit.MILLISECONDS.toNanos(options.peerTimeoutMs()) / TICKS;
        lanes = new Lanes(options.limits().connectionsMax() * options.lanes() + RdmaConnector.UNAUTHENTICATED_MAX);
        verbs = Verbs.load();
        try {
            waiting = Waiting.open(tickNs);
        } catch (OsException | UnsupportedOperationException e) {
            throw new FabricException("the RDMA fabric cannot be opened: " + e.getMessage(), e);
        }
        connections = new Connections<>(RdmaFabricProvider.NAME, config.node(), options.limits(), handler, this);
    }

    @Override
    public String name() {
        return RdmaFabricProvider.NAME;
    }

    @Override
    public String localAddress() {
        return address;
    }

    @Override
    public FabricCapabilities capabilities() {
        return new FabricCapabilities(OPERATION_BYTES_MAX, false, true, true, options.lanes());
    }

    @Override
    public synchronized void register(FabricMemory memory) {
        connections.requireNew();
        var segment = memory.segment();
        MemoryLock.missing(segment.byteSize()).ifPresent(reason -> {
            throw new FabricException("node %s: %s".formatted(config.node(), reason), null);
        });
        var opened = Resources.open(
                config.node(),
                verbs,
                new InetSocketAddress(host, options.port()),
                options.completionEntries(),
                segment,
                options.windows(),
                lanes,
                this::requested);
        boolean registered = false;
        try {
            var handshake = new LaneHandshake(
                    protocol,
                    RdmaOptions.LANES_MAX,
                    options.secret(),
                    LaneHandshake.Self.of(RdmaFabricProvider.NAME, config),
                    false,
                    segment.byteSize());
            resources = opened;
            delivery = new Delivery(opened.completions(), opened.announcements(), lanes, handler, this::deviceFailed);
            waiting.watch(opened.announcements().descriptor());
            var made = new RdmaConnector(
                    connections, handshake, options, host, opened, lanes, lane -> addGone(null, lane));
            connector = made;
            connections.start(made);
            var bound = opened.manager().address();
            address = "%s:%d".formatted(bound.getAddress().getHostAddress(), bound.getPort());
            registered = true;
        } catch (VerbsException | OsException e) {
            throw new FabricException(
                    "node %s cannot listen for peers at %s: %s"
                            .formatted(config.node(), host.getHostAddress(), e.getMessage()),
                    e);
        } finally {
            if (!registered) { // also without memory
                resources = null;
                delivery = null;
                connector = null;
                opened.giveUp();
            }
        }
    }

    private void requested(ConnectionManager.Id id) {
        var current = connector;
        if (current != null) {
            current.requested(id);
        }
    }

    @Override
    public FabricEndpoint connect(String peerAddress) {
        return connections.connect(peerAddress);
    }

    @Override
    public int poll(int limit) {
        var current = delivery;
        if (connections.isClosed() || current == null) {
            return 0;
        }
        long now = System.nanoTime();
        if (now - lastPollNs > STALL_NS) {
            checkForEndedPeers();
        }
        releaseGone(current);
        int handed = connections.poll(limit);
        handed += current.poll(limit - handed);
        current.settle(live);
        if (handed == 0 && current.isAnnouncedAnyway()) {
            // A message that the poller waits for must not wake the standby thread, too.
            waiting.settle();
        }
        if (now - lastTickNs > tickNs) {
            tick(now);
        }
        lastPollNs = now;
        // Serving peers is work, too: the poller must not treat this poll as an empty one.
        return handed == 0 && current.served() && limit > 0 ? 1 : handed;
    }

    private void deviceFailed(String reason) {
        for (var endpoint : live) {
            endpoint.broken(reason, FabricError.FLUSHED);
        }
    }

    private void checkForEndedPeers() {
        var current = resources;
        if (current != null) {
            current.manager().dispatch();
        }
    }

    @Override
    public void opened(RdmaEndpoint endpoint, RdmaLink link) {
        link.mailbox().connect(link.remote());
        live.add(endpoint);
    }

    /** The manager's thread destroys the lanes, because that is slow. */
    @Override
    public boolean ended(RdmaEndpoint endpoint) {
        live.remove(endpoint);
        var link = endpoint.link();
        if (link == null) {
            return true;
        }
        Runnable destroy = () -> {
            try {
                link.destroy();
            } finally {
                boolean unused = connections.inPollRole(() -> addGone(endpoint, null));
            }
        };
        try {
            execute(destroy);
        } catch (RuntimeException | Error e) { // no memory for the task
            Unrecoverable.report(e);
            destroy.run(); // before the flush, which gives the tags of the lanes back
        }
        return false;
    }

    @Override
    public void finished(RdmaEndpoint endpoint) {
        var link = endpoint.link();
        if (link != null) {
            for (var lane : link.lanes()) {
                lanes.release(lane.tag);
            }
        }
    }

    @Override
    public void discard(RdmaLink link) {
        if (connections.isClosed()) {
            link.destroy();
            return;
        }
        execute(() -> {
            try {
                link.destroy();
            } finally {
                for (var lane : link.lanes()) {
                    boolean unused = connections.inPollRole(() -> addGone(null, lane));
                }
            }
        });
    }

    @Override
    public void wake() {
        waiting.wakeAll();
    }

    private void execute(Runnable task) {
        var current = resources;
        if (current != null) {
            current.manager().execute(task);
        }
    }

    /** Checks for peers that were silent for too long. Called {@value #TICKS} times per peer timeout. */
    private void tick(long now) {
        lastTickNs = now;
        for (var endpoint : live) {
            var link = endpoint.link();
            if (link == null || endpoint.end() != null) {
                continue;
            }
            int silent = endpoint.tick();
            if (silent >= TICKS) {
                endpoint.broken(
                        "it was silent for %d ms (%s)".formatted(options.peerTimeoutMs(), RdmaOptions.PEER_TIMEOUT_MS),
                        FabricError.TIMED_OUT);
            } else if (silent > 0) {
                link.lanes()[0].probe();
            }
        }
    }

    private void addGone(@Nullable RdmaEndpoint endpoint, @Nullable RdmaLane lane) {
        var current = delivery;
        gone.add(new Gone(endpoint, lane, current == null ? 0 : current.handled()));
    }

    /** Releases the tags of lanes whose completions were all taken, and starts to flush their endpoints. */
    private void releaseGone(Delivery current) {
        while (!gone.isEmpty()) {
            var first = gone.peek();
            if (!current.queueEmpty() && current.handled() - first.since() < options.completionEntries()) {
                return;
            }
            gone.remove();
            if (first.lane() != null) {
                lanes.release(first.lane().tag);
            }
            if (first.endpoint() != null) {
                connections.flush(first.endpoint());
            }
        }
    }

    @Override
    public void await(long timeoutNs) {
        requireTimeout(timeoutNs);
        if (!connections.isClosed() && leave() && waiting.await(timeoutNs)) {
            announced();
        }
        resume();
    }

    private static void requireTimeout(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout must be at least 0 ns, not " + timeoutNs);
        }
    }

    /** Called when polling stops. Returns true if there is nothing to poll; then the device announces the next completion. */
    private boolean leave() {
        var current = delivery;
        return !connections.hasWork() && gone.isEmpty() && (current == null || current.leave());
    }

    /** Called when a thread polls again. */
    private void resume() {
        var current = delivery;
        if (current != null) {
            current.resume();
        }
    }

    /** Records that the device announced a completion. Any thread. */
    private void announced() {
        var current = delivery;
        if (current != null) {
            current.announced();
        }
    }

    @Override
    public boolean arm() {
        if (connections.isClosed()) {
            return true;
        }
        waiting.arm();
        boolean idle = leave();
        if (!idle) {
            // The device may not announce this work to the standby thread.
            waiting.wakeStandby();
        }
        return idle;
    }

    @Override
    public void disarm() {
        if (!connections.isClosed()) {
            waiting.disarm();
        }
        resume();
    }

    @Override
    public void awaitArmed(long timeoutNs) {
        requireTimeout(timeoutNs);
        long startNs = System.nanoTime();
        // Peers are checked at every tick.
        long allNs = Math.min(timeoutNs, tickNs);
        long leftNs = allNs;
        while (!connections.isClosed() && leftNs >= 0) {
            if (waiting.awaitArmed(leftNs)) {
                announced();
                return;
            }
            leftNs = allNs - (System.nanoTime() - startNs);
        }
    }

    @Override
    public void wakeup() {
        waiting.wakeAll();
    }

    @Override
    public synchronized void close() {
        if (connections.isClosed()) {
            return;
        }
        var opened = resources;
        var handing = delivery;
        if (handing != null) {
            handing.stop();
        }
        boolean alone = connections.close();
        try {
            if (opened != null && alone) {
                opened.close();
            } else if (opened != null) {
                // A connecting thread still uses the other resources; they are released when the process ends.
                opened.closeMemory();
            }
        } finally { // also if the device does not release all of it
            waiting.wakeAll();
            waiting.close();
            if (opened != null) {
                // Closed last, because the standby thread may be about to watch its descriptor.
                opened.announcements().close();
            }
        }
    }
}
