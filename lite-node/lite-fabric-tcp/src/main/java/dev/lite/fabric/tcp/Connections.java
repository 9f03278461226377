package dev.lite.fabric.tcp;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.driver.LaneAssemblies;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.os.Epoll;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.TcpServerSocket;
import dev.lite.os.TcpSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes connections, off the poll role: a daemon thread that accepts, and one for each handshake under way. They tell what
 * happens by events. Thread-safe.
 *
 * <p>Bounds: {@value #STRANGERS_MAX} accepted connections whose peers did not prove who they are yet, each for the time of a
 * handshake at most; then as many endpoints as the options allow, with a thread each until all their lanes are there.
 */
final class Connections implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Connections.class);

    /** Accepted connections that are still strangers'; further ones are dropped. */
    static final int STRANGERS_MAX = 64;

    private static final int BACKLOG = 128;
    private static final long ACCEPT_PAUSE_MS = 100;
    private static final long CLOSE_TIMEOUT_NS = 2_000_000_000L;

    private final String node;
    private final TcpOptions options;
    private final @Nullable SSLContext tls;
    private final LaneHandshake handshake;
    private final Memory memory;
    private final Epoll sockets;
    /** Takes an event; false when the fabric is closed, and the event then stays the caller's. */
    private final Predicate<Event> events;

    private final Consumer<TcpEndpoint> ended;
    private final TcpServerSocket server;
    private final LaneAssemblies<Made> assemblies = new LaneAssemblies<>();
    private final Semaphore strangers = new Semaphore(STRANGERS_MAX);
    private final CountDownLatch closing = new CountDownLatch(1);

    // Guarded by this object, as what follows.
    private final Set<TcpEndpoint> endpoints = new HashSet<>();
    private final Set<Thread> threads = new HashSet<>();
    /** What a closing fabric ends, so that no handshake keeps it waiting. */
    private final Set<Wire> handshaking = new HashSet<>();

    private boolean closed;

    /** A lane whose handshake is done. */
    private record Made(Wire wire, TcpSocket socket) {
        WireMessages messages() {
            return new WireMessages(wire);
        }
    }

    /**
     * Binds.
     *
     * @throws OsException when the address cannot be listened at
     */
    Connections(
            String node,
            TcpOptions options,
            @Nullable SSLContext tls,
            LaneHandshake handshake,
            Memory memory,
            Epoll sockets,
            Predicate<Event> events,
            Consumer<TcpEndpoint> ended) {
        this.node = node;
        this.options = options;
        this.tls = tls;
        this.handshake = handshake;
        this.memory = memory;
        this.sockets = sockets;
        this.events = events;
        this.ended = ended;
        server = TcpServerSocket.bind(new InetSocketAddress(options.bind(), options.port()), BACKLOG);
    }

    /** Where it listens. */
    InetSocketAddress address() {
        return server.address();
    }

    /** Begins to accept. */
    void start() {
        run("accept", this::accept);
    }

    /** Starts a connection; how it went comes as an event. */
    TcpEndpoint connect(String address) {
        var endpoint = new TcpEndpoint(false, ended);
        if (!add(endpoint)) {
            endpoint.lost(limitReached(), FabricError.FLUSHED);
            return endpoint;
        }
        run("connect", () -> connect(endpoint, address));
        return endpoint;
    }

    private void connect(TcpEndpoint endpoint, String address) {
        var made = new Made[options.lanes()];
        int count = 0;
        boolean handed = false;
        try {
            var target = resolve(address);
            long deadline = deadline();
            long high = handshake.randomNumber();
            long low = handshake.randomNumber();
            made[count] = open(target, deadline);
            count++;
            secure(made[0], deadline);
            var verdict = handshake.connect(made[0].messages(), 0, options.lanes(), high, low, deadline);
            while (count < verdict.lanes()) {
                requireWanted(endpoint);
                made[count] = open(target, deadline);
                count++;
                secure(made[count - 1], deadline);
                var unused =
                        handshake.connect(made[count - 1].messages(), count - 1, verdict.lanes(), high, low, deadline);
            }
            LaneHandshake.awaitReady(made[0].messages(), deadline);
            var link = link(
                    endpoint,
                    verdict.hello(),
                    verdict.bytes(),
                    Arrays.asList(made).subList(0, count),
                    address);
            handed = true;
            hand(endpoint, link);
        } catch (RuntimeException e) {
            // Whatever it was, this endpoint has an end.
            endpoint.lost("cannot connect to %s: %s".formatted(address, e.getMessage()), FabricError.FLUSHED);
        } finally {
            for (int i = 0; i < count; i++) {
                settle(made[i], handed);
            }
        }
    }

    private static void requireWanted(TcpEndpoint endpoint) {
        if (endpoint.end() != null) {
            throw new WireException("closed by this node");
        }
    }

    private Made open(InetSocketAddress target, long deadlineNs) {
        return begin(TcpSocket.connect(target, Math.max(1, deadlineNs - System.nanoTime())), true);
    }

    /** Any socket that is in a handshake passes here, and ends in {@link #settle}. */
    private Made begin(TcpSocket socket, boolean connecting) {
        try {
            socket.setUserTimeout(options.peerTimeoutMs());
        } catch (OsException e) {
            socket.close();
            throw e;
        }
        var wire = tls == null ? new PlainWire(socket) : new TlsWire(socket, tls, connecting);
        synchronized (this) {
            if (!closed) {
                handshaking.add(wire);
                return new Made(wire, socket);
            }
        }
        wire.abort();
        throw new WireException("this node closed the fabric");
    }

    private static void secure(Made made, long deadlineNs) {
        if (made.wire() instanceof TlsWire encrypted) {
            encrypted.handshake(deadlineNs);
        }
    }

    /** A handshake is over, one way or the other. */
    private void settle(Made made, boolean handed) {
        synchronized (this) {
            handshaking.remove(made.wire());
        }
        if (!handed) {
            made.wire().abort();
        }
    }

    private long deadline() {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(options.handshakeTimeoutMs());
    }

    private static InetSocketAddress resolve(String address) {
        int colon = address.lastIndexOf(':');
        String host = colon < 0 ? "" : address.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        } else if (host.contains(":")) {
            host = "";
        }
        if (host.isBlank()) {
            throw new IllegalArgumentException("an address is host:port, or [host]:port for IPv6");
        }
        try {
            int port = Integer.parseInt(address.substring(colon + 1));
            return new InetSocketAddress(InetAddress.getByName(host), port);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("an address is host:port, or [host]:port for IPv6", e);
        } catch (UnknownHostException e) {
            throw new WireException("there is no host '%s'".formatted(host), e);
        }
    }

    private void accept() {
        while (closing.getCount() > 0) {
            TcpSocket socket;
            try {
                socket = server.accept();
            } catch (OsException e) {
                if (e.errno() == Errno.EBADF || e.errno() == Errno.EINVAL || !pauseAfter(e)) {
                    return;
                }
                continue;
            }
            if (strangers.tryAcquire()) {
                run("accepted", () -> accepted(socket));
            } else {
                LOG.warn("{}: dropped a peer: {} connections wait for their peers' words", node, STRANGERS_MAX);
                socket.abort();
            }
        }
    }

    /** Out of descriptors or memory, probably: the peer waits meanwhile. Whether to go on. */
    private boolean pauseAfter(OsException e) {
        LOG.warn("{}: cannot accept a peer now: {}", node, e.getMessage());
        try {
            return !closing.await(ACCEPT_PAUSE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            return false;
        }
    }

    private void accepted(TcpSocket socket) {
        String peer = "unknown";
        Made made = null;
        boolean handed = false;
        boolean stranger = true;
        try {
            peer = socket.peer();
            long deadline = deadline();
            made = begin(socket, false);
            secure(made, deadline);
            var accepted = handshake.accept(made.messages(), deadline);
            strangers.release();
            stranger = false;
            var claim = accepted.claim();
            handed = claim.lane() == 0
                    ? acceptFirst(made, accepted, claim, peer, deadline)
                    : assemblies.add(made, accepted, deadline);
        } catch (RuntimeException e) {
            // The handler never hears of it.
            LOG.warn("{}: peer {} could not be accepted: {}", node, peer, e.getMessage());
        } finally {
            if (stranger) {
                strangers.release();
            }
            if (made != null) {
                settle(made, handed);
            } else {
                socket.close();
            }
        }
    }

    private boolean acceptFirst(
            Made first, LaneHandshake.Accepted accepted, LaneHandshake.Claim claim, String peer, long deadline) {
        var endpoint = new TcpEndpoint(true, ended);
        if (!add(endpoint)) {
            accepted.refuse(limitReached(), deadline);
            throw new WireException(limitReached());
        }
        int count = Math.min(claim.lanes(), options.lanes());
        LaneAssemblies<Made>.@Nullable Assembly assembly = null;
        boolean handed = false;
        try {
            assembly = assemblies.begin(claim, count, first);
            accepted.welcome(count, deadline);
            var made = assembly.awaitOthers(deadline);
            if (made == null) {
                throw new WireException("it was given up");
            }
            LaneHandshake.sayReady(first.messages(), deadline);
            var link = link(endpoint, claim.hello(), claim.bytes(), made, peer);
            handed = true;
            hand(endpoint, link);
            return true;
        } finally {
            for (var other : assembly == null ? List.<Made>of() : assembly.end()) {
                settle(other, handed);
            }
            if (!handed) {
                remove(endpoint);
            }
        }
    }

    private TcpLink link(TcpEndpoint endpoint, byte[] hello, long bytes, List<Made> made, String peer) {
        var lanes = new TcpLane[made.size()];
        for (int i = 0; i < lanes.length; i++) {
            var lane = made.get(i);
            lanes[i] = new TcpLane(
                    lane.wire(),
                    lane.socket(),
                    memory,
                    sockets,
                    reason -> endpoint.lost("peer %s: %s".formatted(peer, reason), FabricError.FLUSHED));
        }
        return new TcpLink(hello, new Memory(0, bytes), lanes, peer);
    }

    private void hand(TcpEndpoint endpoint, TcpLink link) {
        if (!events.test(new Event.Connected(endpoint, link))) {
            for (var lane : link.lanes()) {
                lane.cut();
                lane.release();
            }
        }
    }

    private synchronized boolean add(TcpEndpoint endpoint) {
        return !closed && endpoints.size() < options.connectionsMax() && endpoints.add(endpoint);
    }

    /** The endpoint has been finished, and counts no more. */
    synchronized void remove(TcpEndpoint endpoint) {
        endpoints.remove(endpoint);
    }

    private String limitReached() {
        return "node %s has %d connections, the limit (%s)"
                .formatted(node, options.connectionsMax(), TcpOptions.CONNECTIONS_MAX);
    }

    private synchronized void run(String role, Runnable task) {
        var thread = Thread.ofPlatform()
                .daemon()
                .name("lite-tcp-%s-%s".formatted(node, role))
                .unstarted(() -> {
                    try {
                        task.run();
                    } finally {
                        threadEnds();
                    }
                });
        threads.add(thread);
        thread.start();
    }

    private synchronized void threadEnds() {
        threads.remove(Thread.currentThread());
    }

    /** Stops to accept and takes no more endpoints; the ones there are, the caller's to finish. */
    List<TcpEndpoint> stop() {
        List<TcpEndpoint> left;
        List<Wire> wires;
        synchronized (this) {
            closed = true;
            left = List.copyOf(endpoints);
            wires = List.copyOf(handshaking);
        }
        closing.countDown();
        server.close();
        // Not aborted: their threads do that, when they come back with an error.
        wires.forEach(Wire::shutdown);
        return left;
    }

    /** Waits, within bounds, for the threads to end. */
    @Override
    public void close() {
        List<Thread> left;
        synchronized (this) {
            left = List.copyOf(threads);
        }
        long deadline = System.nanoTime() + CLOSE_TIMEOUT_NS;
        try {
            for (var thread : left) {
                long restMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                thread.join(Math.max(1, restMs));
                if (thread.isAlive()) {
                    // It ends by itself: at the latest when the time for its handshake is over.
                    LOG.warn("{}: thread {} still waits for a peer", node, thread.getName());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
