package dev.lite.fabric.tcp;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricException;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.driver.Waiting;
import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The TCP fabric of one node; see the package for how it works. */
final class TcpFabric implements Fabric {
    /** A system call of 300 to 400 ns, against the 30 to 50 ns of a look at memory. */
    private static final int POLL_COST = 8;

    private static final FabricCapabilities CAPABILITIES = new FabricCapabilities(Frame.LENGTH_MAX, false, false, true);

    /** "LITETCP" and the version of the protocol. */
    private static final long PROTOCOL = 0x4C49544554435001L;

    /** A poll this long after the one before looks for resets first: closers wait twice as long for an answer. */
    private static final long STALL_NS = TcpEndpoint.CLOSE_WAIT_NS / 2;

    private final FabricConfig config;
    private final TcpOptions options;
    private final FabricHandler handler;
    private final Waiting waiting;
    /** Those of all lanes. */
    private final Epoll sockets;

    private final LanePolling lanes;
    private final LateAcknowledgements late = new LateAcknowledgements();
    private final long tickNs;

    /** At most two for each connection, and one for each connect over the limit. */
    private final Queue<Event> events = new ConcurrentLinkedQueue<>();

    /** Guarded by {@link #events}: nothing is added any more. */
    private boolean eventsClosed;

    private volatile boolean closed;
    private volatile @Nullable Connections connections;
    private volatile String address = "";

    // Poll role, as all that follows.
    /** Ended endpoints whose operations are not all failed yet. */
    private final ArrayDeque<TcpEndpoint> ending = new ArrayDeque<>();

    private long lastPollNs = System.nanoTime();
    private long lastTickNs = lastPollNs;

    TcpFabric(FabricConfig config, TcpOptions options, FabricHandler handler) {
        this.config = config;
        this.options = options;
        this.handler = handler;
        if (!options.bind().isLoopbackAddress() && options.secret() == null && config.tls() == null) {
            throw new FabricException(
                    "the TCP fabric listens at %s, where others than this host reach it: set %s or TLS, or %s to a loopback address"
                            .formatted(options.bind().getHostAddress(), TcpOptions.SECRET, TcpOptions.BIND),
                    null);
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
        lanes = new LanePolling(handler, sockets, options.peerTimeoutMs());
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
        return CAPABILITIES;
    }

    @Override
    public synchronized void register(FabricMemory memory) {
        if (connections != null || closed) {
            throw new IllegalStateException("memory is registered once, with an open fabric");
        }
        var own = new Memory(memory.segment().address(), memory.segment().byteSize());
        var handshake =
                new LaneHandshake(PROTOCOL, TcpOptions.LANES_MAX, options.secret(), config.hello(), own.bytes());
        Connections started;
        try {
            started = new Connections(
                    config.node(), options, config.tls(), handshake, own, sockets, this::offer, this::ended);
        } catch (OsException e) {
            throw new FabricException(
                    "node %s cannot listen for peers: %s".formatted(config.node(), e.getMessage()), e);
        }
        connections = started;
        address = advertised(started);
        started.start();
    }

    private String advertised(Connections started) {
        var bound = started.address();
        var host = options.advertisedHost();
        var name = host == null ? bound.getAddress().getHostAddress() : host;
        return (name.contains(":") ? "[%s]:%d" : "%s:%d").formatted(name, bound.getPort());
    }

    @Override
    public FabricEndpoint connect(String peerAddress) {
        var current = connections;
        if (current == null || closed) {
            throw new IllegalStateException("to connect, the fabric must be open and have memory registered");
        }
        return current.connect(peerAddress);
    }

    @Override
    public int pollCost() {
        return POLL_COST;
    }

    @Override
    public int poll(int limit) {
        if (closed) {
            return 0;
        }
        long now = System.nanoTime();
        if (now - lastPollNs > STALL_NS) {
            lanes.dropReset();
        }
        int handed = 0;
        while (handed < limit && !closed) {
            var event = events.poll();
            if (event == null) {
                break;
            }
            handed += handle(event);
        }
        if (!ending.isEmpty()) {
            handed += failEnded(limit - handed);
        }
        handed += lanes.poll(limit - handed, now);
        if (handed == 0) {
            // While nothing else is to be done: a holder that found at once what it waits for does not need it.
            waiting.settle();
        }
        if (now - lastTickNs > tickNs) {
            lastTickNs = now;
            lanes.tick();
        }
        lastPollNs = now;
        // What peers asked for is work, too: whoever polls must not take it for a time in which nothing came.
        return handed == 0 && lanes.served() && limit > 0 ? 1 : handed;
    }

    private int handle(Event event) {
        var endpoint = event.endpoint();
        switch (event) {
            case Event.Connected connected -> {
                var link = connected.link();
                if (endpoint.isFinished()) {
                    // Closed here while the handshake was still under way.
                    release(link);
                    return 0;
                }
                lanes.watch(endpoint, link);
                if (endpoint.connected(link)) {
                    handler.connected(endpoint, endpoint.accepted());
                    return 1;
                }
                return 0;
            }
            case Event.Ended ended -> {
                ending.add(ended.endpoint());
                return 0;
            }
        }
    }

    private static void release(TcpLink link) {
        for (var lane : link.lanes()) {
            lane.cut();
            lane.release();
        }
    }

    /** Fails what ended endpoints still had under way, and then tells their end. */
    private int failEnded(int limit) {
        int handed = 0;
        while (!ending.isEmpty() && handed < limit) {
            var endpoint = ending.peek();
            int failed = failOperations(endpoint, limit - handed);
            handed += failed;
            if (handed < limit) {
                ending.remove(endpoint);
                handed += finish(endpoint);
            }
        }
        return handed;
    }

    private int failOperations(TcpEndpoint endpoint, int limit) {
        var link = endpoint.link();
        var end = endpoint.end();
        if (link == null || end == null || endpoint.isFinished()) {
            return 0;
        }
        int handed = 0;
        for (var lane : link.lanes()) {
            // Nobody looks at local memory any more from here on.
            lane.cut();
            while (handed < limit && lane.outbound.hasOperation()) {
                handed++;
                handler.failed(endpoint, lane.outbound.end(), end.error());
            }
        }
        return handed;
    }

    private int finish(TcpEndpoint endpoint) {
        var end = endpoint.end();
        lanes.unwatch(endpoint);
        var current = connections;
        if (current != null) {
            current.remove(endpoint);
        }
        if (!endpoint.finish()) {
            return 0;
        }
        handler.disconnected(endpoint, end == null ? "this node closed the fabric" : end.reason());
        return 1;
    }

    @Override
    public void await(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout is at least 0 ns, not " + timeoutNs);
        }
        if (closed) {
            return;
        }
        lanes.acknowledgeAll();
        if (!hasWork()) {
            waiting.settle();
            waiting.await(timeoutNs);
        }
        lastPollNs = System.nanoTime();
    }

    /** Whether there is something that the sockets do not show. */
    private boolean hasWork() {
        return lanes.hasMore() || !events.isEmpty() || !ending.isEmpty();
    }

    @Override
    public boolean arm() {
        if (closed) {
            return true;
        }
        if (lanes.isRiding() && late.watch()) {
            waiting.nudgeStandBy();
        }
        waiting.arm();
        // What the sockets have already ends standBy as what comes does; to ask for it would cost who leaves a system
        // call.
        boolean work = hasWork();
        if (work) {
            waiting.wakeStandBy();
        }
        return !work;
    }

    @Override
    public void disarm() {
        if (!closed) {
            waiting.disarm();
        }
        lastPollNs = System.nanoTime();
    }

    @Override
    public void standBy(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout is at least 0 ns, not " + timeoutNs);
        }
        long startNs = System.nanoTime();
        // Peers are looked after at every tick.
        long allNs = Math.min(timeoutNs, tickNs);
        long leftNs = allNs;
        while (!closed && !waiting.standBy(late.pauseNs(leftNs))) {
            long nowNs = System.nanoTime();
            leftNs = allNs - (nowNs - startNs);
            if (leftNs <= 0) {
                return;
            }
            late.look(lanes.all(), nowNs);
        }
    }

    @Override
    public void wakeup() {
        waiting.wakeAll();
    }

    private void ended(TcpEndpoint endpoint) {
        // Refused when the fabric is closed, which tells the handler itself.
        boolean unused = offer(new Event.Ended(endpoint));
    }

    private boolean offer(Event event) {
        synchronized (events) {
            if (eventsClosed) {
                return false;
            }
            events.add(event);
        }
        waiting.wakeAll();
        return true;
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        synchronized (events) {
            eventsClosed = true;
        }
        var current = connections;
        if (current != null) {
            close(current);
        }
        waiting.wakeAll();
        waiting.close();
        sockets.close();
    }

    private void close(Connections current) {
        var left = current.stop();
        for (var endpoint : left) {
            endpoint.lost("this node closed the fabric", FabricError.FLUSHED);
        }
        // What was queued is not announced any more, but its lanes are released.
        for (var event = events.poll(); event != null; event = events.poll()) {
            if (event instanceof Event.Connected connected) {
                release(connected.link());
            }
        }
        for (var endpoint : left) {
            int failed = failOperations(endpoint, Integer.MAX_VALUE);
            int told = finish(endpoint);
            assert failed + told >= 0;
        }
        current.close();
    }
}
