package dev.lite.fabric.tcp;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricException;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.driver.Connections;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.driver.Waiting;
import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.waiting.Unrecoverable;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The TCP fabric of one node; see the package for how it works. */
final class TcpFabric implements Fabric, Connections.Driver<TcpEndpoint, TcpLink> {
    private static final Logger LOG = LoggerFactory.getLogger(TcpFabric.class);

    /** A system call takes 300 to 400 ns, a read of memory 30 to 50 ns. */
    private static final int POLL_COST = 8;

    /** "LITETCP" and the version of the protocol. Visible to tests. */
    static final long PROTOCOL = 0x4C49544554435002L;

    private final FabricConfig config;
    private final TcpOptions options;
    private final Waiting waiting;
    /** The sockets of all lanes. */
    private final Epoll sockets;

    /** Visible to tests. */
    final Departures departures = new Departures();

    private final LanePolling lanes;
    private final StandbyChecks checks;
    private final LateAcknowledgements late = new LateAcknowledgements();
    private final long tickNs;

    private final Connections<TcpEndpoint, TcpLink> connections;
    private volatile String address = "";

    // Used by the poll role, like all following fields.
    private long lastTickNs = System.nanoTime();

    TcpFabric(FabricConfig config, TcpOptions options, FabricHandler handler) {
        this.config = config;
        this.options = options;
        if (options.secret() == null && config.tls() == null) {
            throw new FabricException(
                    "the TCP fabric would give this node's memory to everybody who can connect to %s: set %s or TLS"
                            .formatted(options.bind().getHostAddress(), TcpOptions.SECRET),
                    null);
        }
        if (!options.encrypted() && config.tls() == null) {
            LOG.warn(
                    "{}: TCP connections are not encrypted, unless the other node asks for it. Anybody on the network between two nodes can read and change their data. Set lite.node.tcp.protection to encrypted.",
                    config.node());
        }
        tickNs = TimeUnit.MILLISECONDS.toNanos(options.peerTimeoutMs()) / LanePolling.TICKS;
        Waiting opened = null;
        try {
            opened = Waiting.open(tickNs);
            sockets = Epoll.create();
        } catch (OsException | UnsupportedOperationException e) {
            if (opened != null) {
                opened.close();
            }
            throw new FabricException("the TCP fabric cannot be opened: " + e.getMessage(), e);
        }
        waiting = opened;
        waiting.watch(sockets);
        checks = new StandbyChecks(waiting, departures);
        lanes = new LanePolling(handler, sockets, options.peerTimeoutMs());
        connections = new Connections<>(TcpFabricProvider.NAME, config.node(), options.limits(), handler, this);
    }

    @Override
    public String name() {
        return TcpFabricProvider.NAME;
    }

    @Override
    public String localAddress() {
        return address;
    }

    @Override
    public FabricCapabilities capabilities() {
        return new FabricCapabilities(Frame.LENGTH_MAX, false, false, true, options.lanes());
    }

    @Override
    public synchronized void register(FabricMemory memory) {
        connections.requireNew();
        var own = new Memory(memory.segment().address(), memory.segment().byteSize());
        var handshake = new LaneHandshake(
                PROTOCOL,
                TcpOptions.LANES_MAX,
                options.secret(),
                LaneHandshake.Self.of(TcpFabricProvider.NAME, config),
                options.encrypted() && config.tls() == null,
                own.bytes());
        TcpConnector connector;
        try {
            connector =
                    new TcpConnector(connections, handshake, options, config.tls(), own, sockets, departures, checks);
        } catch (OsException e) {
            throw new FabricException(
                    "node %s cannot listen for peers: %s".formatted(config.node(), e.getMessage()), e);
        }
        address = advertised(connector.address());
        connections.start(connector);
    }

    private String advertised(InetSocketAddress bound) {
        var host = options.advertisedHost();
        var name = host == null ? bound.getAddress().getHostAddress() : host;
        return (name.contains(":") ? "[%s]:%d" : "%s:%d").formatted(name, bound.getPort());
    }

    @Override
    public FabricEndpoint connect(String peerAddress) {
        return connections.connect(peerAddress);
    }

    @Override
    public int pollCost() {
        return POLL_COST;
    }

    @Override
    public int poll(int limit) {
        if (connections.isClosed()) {
            return 0;
        }
        long now = System.nanoTime();
        departures.poll(now);
        int handed = connections.poll(limit);
        handed += lanes.poll(limit - handed, now);
        departures.send();
        if (handed == 0) {
            // Only after an empty poll: a thread whose first poll is a hit does not need this.
            waiting.settle();
        }
        if (now - lastTickNs > tickNs) {
            lastTickNs = now;
            lanes.tick();
        }
        // Serving peers is also work: the poller must not treat this poll as empty.
        return handed == 0 && lanes.served() && limit > 0 ? 1 : handed;
    }

    @Override
    public void opened(TcpEndpoint endpoint, TcpLink link) {
        lanes.watch(endpoint, link);
    }

    @Override
    public boolean ended(TcpEndpoint endpoint) {
        if (!endpoint.mayChangePeer()) {
            return true;
        }
        try { // a failed post promises its caller that the peer does not execute it any more
            lanes.unwatch(endpoint); // else input that nobody reads would end each wait meanwhile
            return !connections.run("cut", () -> {
                try {
                    endpoint.close();
                } finally {
                    boolean unused = connections.inPollRole(() -> connections.flush(endpoint));
                }
            });
        } catch (RuntimeException | Error e) { // no memory for a thread
            Unrecoverable.report(e);
            LOG.error("{}: operations at {} fail although it may still execute them", config.node(), endpoint, e);
            return true;
        }
    }

    @Override
    public void finished(TcpEndpoint endpoint) {
        try {
            lanes.unwatch(endpoint);
        } finally { // also without memory: nobody would release it later
            endpoint.release();
        }
    }

    @Override
    public void discard(TcpLink link) {
        link.release();
    }

    @Override
    public void wake() {
        waiting.wakeAll();
    }

    @Override
    public void await(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout must be at least 0 ns, not " + timeoutNs);
        }
        if (connections.isClosed()) {
            return;
        }
        departures.stop();
        lanes.acknowledgeAll();
        if (!hasWork()) {
            waiting.settle();
            waiting.await(timeoutNs);
        }
    }

    /** Whether there is work that the sockets do not show. */
    private boolean hasWork() {
        return lanes.hasMore() || connections.hasWork();
    }

    @Override
    public boolean arm() {
        return arm(false);
    }

    @Override
    public boolean armBriefly() {
        return arm(true);
    }

    private boolean arm(boolean briefly) {
        if (connections.isClosed()) {
            return true;
        }
        departures.stop();
        if (lanes.isRiding() && late.watch()) {
            waiting.nudgeStandby();
        }
        departures.armed(checks.arm(briefly));
        // Input that the sockets already have also ends awaitArmed; a check here would cost this thread a system call.
        boolean work = hasWork();
        if (work) {
            waiting.wakeStandby();
        }
        return !work;
    }

    @Override
    public void disarm() {
        departures.armed(false);
        if (!connections.isClosed()) {
            checks.disarm();
        }
    }

    @Override
    public void awaitArmed(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout must be at least 0 ns, not " + timeoutNs);
        }
        long startNs = System.nanoTime();
        // Peers are checked at every tick.
        long allNs = Math.min(timeoutNs, tickNs);
        long leftNs = allNs;
        while (!connections.isClosed() && !waiting.awaitArmed(checks.pauseNs(late.pauseNs(leftNs)))) {
            long nowNs = System.nanoTime();
            leftNs = allNs - (nowNs - startNs);
            if (leftNs <= 0) {
                return;
            }
            late.check(lanes.all(), nowNs);
            checks.check(lanes.all(), nowNs);
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
        boolean unused = connections.close();
        waiting.wakeAll();
        waiting.close();
        sockets.close();
    }
}
