package dev.lite.fabric.rdma;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricException;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.handshake.Handshake;
import dev.lite.fabric.waiting.Waiting;
import dev.lite.os.OsException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The RDMA fabric of one node; see the package for how it works. */
final class RdmaFabric implements Fabric {
    /** At a megabyte in a tenth of a second this still ends before the peer counts as gone. */
    static final long OPERATION_BYTES_MAX = 16 << 20;

    private static final FabricCapabilities CAPABILITIES =
            new FabricCapabilities(OPERATION_BYTES_MAX, false, true, true);

    /** "LITERDM" and the version of the protocol. */
    static final long PROTOCOL = 0x4C49544552444D01L;

    /**
     * A poll this long after the one before looks for ended peers first: closers wait twice as long for an answer. Who comes back after a
     * wait looks, too: cheaper than to read the clock whenever the poll role is taken.
     */
    private static final long STALL_NS = RdmaEndpoint.CLOSE_WAIT_NS / 2;
    /** A peer is asked for a sign of life after one silent part of its time, and given up after all of them. */
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

    /** At most three for each connection, one for each lane, and one for each connect over the limit. */
    private final Queue<Event> events = new ConcurrentLinkedQueue<>();

    /** Guarded by {@link #events}: nothing is added any more. */
    private boolean eventsClosed;

    private volatile boolean closed;
    private volatile @Nullable Resources resources;
    private volatile @Nullable Connections connections;
    private volatile String address = "";

    private volatile @Nullable Delivery delivery;

    // Poll role, as all that follows.
    private final List<RdmaEndpoint> live = new ArrayList<>();

    /** Ended endpoints whose lanes are destroyed, and lanes that never were an endpoint's. */
    private final ArrayDeque<Gone> gone = new ArrayDeque<>();

    private long lastPollNs = System.nanoTime();
    private long lastTickNs = lastPollNs;

    /** What waits until no completion of it can come any more: the queue was seen empty, or as many passed as it holds. */
    private record Gone(
            @Nullable RdmaEndpoint endpoint, @Nullable Lane lane, long since) {}

    RdmaFabric(FabricConfig config, RdmaOptions options, FabricHandler handler) {
        this(config, options, handler, PROTOCOL);
    }

    /** For tests: one that begins connections in its own way. */
    RdmaFabric(FabricConfig config, RdmaOptions options, FabricHandler handler, long protocol) {
        this.config = config;
        this.protocol = protocol;
        this.options = options;
        this.handler = handler;
        host = Device.address(Device.all(), options.device(), options.host());
        if (!host.isLoopbackAddress() && options.secret() == null) {
            throw new FabricException(
                    "the RDMA fabric listens at %s, where others than this host reach it: set %s"
                            .formatted(host.getHostAddress(), RdmaOptions.SECRET),
                    null);
        }
        tickNs = TimeUnit.MILLISECONDS.toNanos(options.peerTimeoutMs()) / TICKS;
        lanes = new Lanes(options.connectionsMax() * options.lanes() + Connections.STRANGERS_MAX);
        verbs = Verbs.load();
        try {
            waiting = Waiting.open(tickNs);
        } catch (OsException | UnsupportedOperationException e) {
            throw new FabricException("the RDMA fabric cannot be opened: " + e.getMessage(), e);
        }
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
        return CAPABILITIES;
    }

    @Override
    public synchronized void register(FabricMemory memory) {
        if (connections != null || closed) {
            throw new IllegalStateException("memory is registered once, with an open fabric");
        }
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
        try {
            var handshake = new Handshake(
                    protocol, RdmaOptions.LANES_MAX, options.secret(), config.hello(), segment.byteSize());
            resources = opened;
            delivery = new Delivery(opened.completions(), opened.announcements(), lanes, handler, this::deviceFailed);
            waiting.watch(opened.announcements().descriptor());
            connections =
                    new Connections(config.node(), options, host, handshake, opened, lanes, this::offer, this::ended);
            opened.manager().start();
            var bound = opened.manager().address();
            address = "%s:%d".formatted(bound.getAddress().getHostAddress(), bound.getPort());
        } catch (VerbsException | OsException e) {
            resources = null;
            delivery = null;
            connections = null;
            opened.giveUp();
            throw new FabricException(
                    "node %s cannot listen for peers at %s: %s"
                            .formatted(config.node(), host.getHostAddress(), e.getMessage()),
                    e);
        }
    }

    private void requested(ConnectionManager.Id id) {
        var current = connections;
        if (current != null) {
            current.requested(id);
        }
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
    public int poll(int limit) {
        var current = delivery;
        if (closed || current == null) {
            return 0;
        }
        long now = System.nanoTime();
        if (now - lastPollNs > STALL_NS) {
            lookForEndedPeers();
        }
        int handed = 0;
        while (handed < limit && !closed) {
            var event = events.poll();
            if (event == null) {
                break;
            }
            handed += handle(event, current);
        }
        handed += current.poll(limit - handed);
        if (!gone.isEmpty()) {
            handed += finishGone(limit - handed, current);
        }
        current.settle(live);
        if (handed == 0 && current.isAnnouncedAnyway()) {
            // A message that is being waited for shall not wake who stands by, too.
            waiting.settle();
        }
        if (now - lastTickNs > tickNs) {
            tick(now);
        }
        lastPollNs = now;
        // What peers asked for is work, too: whoever polls must not take it for a time in which nothing came.
        return handed == 0 && current.served() && limit > 0 ? 1 : handed;
    }

    private void deviceFailed(String reason) {
        for (var endpoint : live) {
            endpoint.lost(reason, FabricError.FLUSHED);
        }
    }

    private void lookForEndedPeers() {
        var current = resources;
        if (current != null) {
            current.manager().dispatch();
        }
    }

    private int handle(Event event, Delivery current) {
        switch (event) {
            case Event.Connected connected -> {
                return connected(connected.endpoint(), connected.link());
            }
            case Event.Ended ended -> tearDown(ended.endpoint(), current);
            case Event.TornDown tornDown -> gone.add(new Gone(tornDown.endpoint(), null, current.handled()));
            case Event.Discarded discarded -> gone.add(new Gone(null, discarded.lane(), current.handled()));
        }
        return 0;
    }

    private int connected(RdmaEndpoint endpoint, Link link) {
        if (endpoint.isEnding()) {
            // Closed here, or broken, while the handshake was still under way.
            execute(() -> {
                for (var lane : link.lanes()) {
                    lane.destroy();
                    boolean unused = offer(new Event.Discarded(lane));
                }
            });
            return 0;
        }
        boolean told = endpoint.connected(link);
        if (told) {
            live.add(endpoint);
            handler.connected(endpoint, endpoint.accepted());
            return 1;
        }
        return 0;
    }

    /** Destroying takes its time: the manager's thread does it, and says so. */
    private void tearDown(RdmaEndpoint endpoint, Delivery current) {
        live.remove(endpoint);
        endpoint.beginEnding();
        var link = endpoint.link();
        if (link == null) {
            gone.add(new Gone(endpoint, null, current.handled()));
            return;
        }
        execute(() -> {
            for (var lane : link.lanes()) {
                lane.destroy();
            }
            boolean unused = offer(new Event.TornDown(endpoint));
        });
    }

    private void execute(Runnable task) {
        var current = resources;
        if (current != null) {
            current.manager().execute(task);
        }
    }

    /** Looks for peers that are silent for too long. */
    private void tick(long now) {
        lastTickNs = now;
        for (var endpoint : live) {
            var link = endpoint.link();
            if (link == null || endpoint.end() != null) {
                continue;
            }
            int silent = endpoint.tick();
            if (silent >= TICKS) {
                endpoint.lost(
                        "nothing came back for %d ms (%s)"
                                .formatted(options.peerTimeoutMs(), RdmaOptions.PEER_TIMEOUT_MS),
                        FabricError.TIMED_OUT);
            } else if (silent > 0) {
                link.lanes()[0].probe();
            }
        }
    }

    /** Fails what ended endpoints still had under way, tells their end, and frees the places of their lanes. */
    private int finishGone(int limit, Delivery current) {
        int handed = 0;
        while (!gone.isEmpty() && handed < limit) {
            var first = gone.peek();
            if (!current.queueEmpty() && current.handled() - first.since() < options.completionEntries()) {
                break;
            }
            var lane = first.lane();
            if (lane != null) {
                lanes.release(lane.tag);
            }
            var endpoint = first.endpoint();
            if (endpoint != null) {
                handed += endpoint.fail(handler, limit - handed);
                if (handed == limit) {
                    break;
                }
                handed += finish(endpoint);
            }
            gone.remove();
        }
        return handed;
    }

    private int finish(RdmaEndpoint endpoint) {
        var link = endpoint.link();
        if (link != null && !endpoint.isFinished()) {
            for (var lane : link.lanes()) {
                lanes.release(lane.tag);
            }
        }
        var current = connections;
        if (current != null) {
            current.remove(endpoint);
        }
        if (!endpoint.finish()) {
            return 0;
        }
        var end = endpoint.end();
        handler.disconnected(endpoint, end == null ? "this node closed the fabric" : end.reason());
        return 1;
    }

    @Override
    public void await(long timeoutNs) {
        requireTimeout(timeoutNs);
        if (!closed && leave() && waiting.await(timeoutNs)) {
            announced();
        }
        comeBack();
    }

    private static void requireTimeout(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout is at least 0 ns, not " + timeoutNs);
        }
    }

    /** Nobody polls for a while: whether there is nothing to poll, and what comes is announced. */
    private boolean leave() {
        var current = delivery;
        return events.isEmpty() && gone.isEmpty() && (current == null || current.leave());
    }

    /** Somebody polls again. */
    private void comeBack() {
        var current = delivery;
        if (current != null) {
            current.comeBack();
        }
    }

    /** Any thread. */
    private void announced() {
        var current = delivery;
        if (current != null) {
            current.announced();
        }
    }

    @Override
    public boolean arm() {
        if (closed) {
            return true;
        }
        waiting.arm();
        boolean idle = leave();
        if (!idle) {
            // Nothing may announce it to whoever stands by.
            waiting.wakeStandBy();
        }
        return idle;
    }

    @Override
    public void disarm() {
        if (!closed) {
            waiting.disarm();
        }
        comeBack();
    }

    @Override
    public void standBy(long timeoutNs) {
        requireTimeout(timeoutNs);
        long startNs = System.nanoTime();
        // Peers are looked after at every tick.
        long allNs = Math.min(timeoutNs, tickNs);
        long leftNs = allNs;
        while (!closed && leftNs >= 0) {
            if (waiting.standBy(leftNs)) {
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

    private void ended(RdmaEndpoint endpoint) {
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
        var opened = resources;
        var handing = delivery;
        if (handing != null) {
            handing.stop();
        }
        if (current != null && opened != null) {
            close(current, opened);
        }
        waiting.wakeAll();
        waiting.close();
        if (opened != null) {
            // Last, since who stands by may just be about to watch it.
            opened.announcements().close();
        }
    }

    private void close(Connections current, Resources opened) {
        var left = current.stop();
        boolean alone = current.awaitThreads();
        for (var event = events.poll(); event != null; event = events.poll()) {
            if (event instanceof Event.Connected connected) {
                // Not announced any more.
                for (var lane : connected.link().lanes()) {
                    lane.destroy();
                }
            }
        }
        long deadline = System.nanoTime() + RdmaEndpoint.CLOSE_WAIT_NS;
        for (var endpoint : left) {
            endpoint.lost("this node closed the fabric", FabricError.FLUSHED);
            var link = endpoint.link();
            if (link != null) {
                endpoint.cut(link, deadline);
                for (var lane : link.lanes()) {
                    lane.destroy();
                }
            }
        }
        if (alone) {
            opened.close();
        } else {
            opened.closeMemory();
        }
        for (var endpoint : left) {
            int failed = endpoint.fail(handler, Integer.MAX_VALUE);
            int told = finish(endpoint);
            assert failed + told >= 0;
        }
    }
}
