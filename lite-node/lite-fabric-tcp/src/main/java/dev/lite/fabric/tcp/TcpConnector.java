package dev.lite.fabric.tcp;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricKeys;
import dev.lite.fabric.FabricStream;
import dev.lite.fabric.driver.Connections;
import dev.lite.fabric.driver.HandshakeException;
import dev.lite.fabric.driver.LaneConnector;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.driver.MessageChannel;
import dev.lite.os.AcceptLoop;
import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.TcpServerSocket;
import dev.lite.os.TcpSocket;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.os.wire.PlainWire;
import dev.lite.os.wire.SealedWire;
import dev.lite.os.wire.Wire;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** Makes lanes over TCP connections, with TLS when this node has a certificate. Thread-safe. */
final class TcpConnector extends LaneConnector<TcpEndpoint, TcpLink, TcpConnector.OpenLane> {
    /** Maximum number of accepted TCP connections whose peers are not authenticated yet; for further ones, others are dropped. */
    static final int UNAUTHENTICATED_MAX = 64;

    private static final int BACKLOG = 128;

    private final Connections<TcpEndpoint, TcpLink> connections;
    private final TcpOptions options;
    private final @Nullable SSLContext tls;
    private final Memory memory;
    private final Epoll sockets;
    private final Departures departures;
    private final StandbyChecks checks;
    private final TcpServerSocket server;
    private final AcceptLoop<TcpSocket> acceptLoop;

    /** A TCP connection in its handshake. Used by one thread at a time. */
    static final class OpenLane {
        private final Wire wire;
        private final TcpSocket socket;
        /** Whether this node opens the lane. */
        private final boolean connecting;
        /** Of the lane, once its handshake is over; null for none. */
        private @Nullable FabricKeys keys;

        OpenLane(Wire wire, TcpSocket socket, boolean connecting) {
            this.wire = wire;
            this.socket = socket;
            this.connecting = connecting;
        }

        private Wire protectedWire() {
            // Keys are agreed on only without TLS: the wire is plain.
            return keys == null ? wire : new SealedWire(new PlainWire(socket), keys.send(), keys.receive());
        }
    }

    /**
     * Binds the listening socket.
     *
     * @param memory this node's memory, which peers may access
     * @param sockets the epoll set that watches all lanes
     * @param departures the lanes whose frames the polling thread sends
     * @param checks steps in when no thread polls
     * @throws OsException if it cannot listen at the address
     */
    TcpConnector(
            Connections<TcpEndpoint, TcpLink> connections,
            LaneHandshake handshake,
            TcpOptions options,
            @Nullable SSLContext tls,
            Memory memory,
            Epoll sockets,
            Departures departures,
            StandbyChecks checks) {
        super(connections, handshake, options.lanes(), UNAUTHENTICATED_MAX);
        this.connections = connections;
        this.options = options;
        this.tls = tls;
        this.memory = memory;
        this.sockets = sockets;
        this.departures = departures;
        this.checks = checks;
        server = TcpServerSocket.bind(new InetSocketAddress(options.bind(), options.port()), BACKLOG);
        acceptLoop = new AcceptLoop<>(server::accept, this::accept, connections::cannotAccept);
    }

    private void accept(TcpSocket socket) {
        InetAddress from;
        try {
            from = socket.peerAddress();
        } catch (OsException e) { // it is gone already
            socket.abort();
            return;
        }
        accept(from, deadline -> lane(socket, false), socket::shutdown, socket::abort);
    }

    /** The address at which this node listens. */
    InetSocketAddress address() {
        return server.address();
    }

    @Override
    public TcpEndpoint create(boolean accepted) {
        return new TcpEndpoint(accepted, options.channels(), this::startStream);
    }

    @Override
    public void start() {
        boolean unused = connections.run("accept", acceptLoop);
    }

    @Override
    protected Opener<OpenLane> resolve(String address, Deadline deadline) {
        InetSocketAddress target = resolve(address, found -> true, "usable", deadline);
        return ofLane -> lane(TcpSocket.connecting(target), true);
    }

    private OpenLane lane(TcpSocket socket, boolean connecting) {
        try {
            return new OpenLane(
                    tls == null ? new PlainWire(socket) : new TlsWire(socket, tls, connecting, options.verifyNames()),
                    socket,
                    connecting);
        } catch (RuntimeException | Error e) { // such as: no memory for the buffers of TLS
            socket.close();
            throw e;
        }
    }

    @Override
    protected MessageChannel channel(OpenLane lane, Deadline deadline) {
        if (lane.connecting) {
            lane.socket.awaitConnected(Math.max(1, deadline.remainingNs()));
        }
        lane.socket.setUserTimeout(options.peerTimeoutMs());
        if (lane.wire instanceof TlsWire encrypted) {
            encrypted.handshake(deadline);
        }
        return new WireMessages(lane.wire);
    }

    @Override
    protected String name(OpenLane lane) {
        return lane.socket.peer();
    }

    @Override
    protected TcpLink join(
            TcpEndpoint endpoint,
            Peer peer,
            List<OpenLane> lanes,
            MessageChannel first,
            boolean connecting,
            Deadline deadline) {
        for (OpenLane lane : lanes) {
            if (lane.wire instanceof TlsWire encrypted) {
                encrypted.readAhead();
            }
        }
        // Before the peer knows that the connection is complete: it may open a stream at once.
        endpoint.streams().begin(peer);
        boolean made = false;
        try {
            TcpLink link = join(endpoint, peer, lanes, connecting, deadline);
            made = true;
            return link;
        } finally {
            if (!made) { // nobody ends the endpoint then
                endpoint.streams().end();
            }
        }
    }

    private TcpLink join(TcpEndpoint endpoint, Peer peer, List<OpenLane> lanes, boolean connecting, Deadline deadline) {
        List<Wire> wires = lanes.stream().map(OpenLane::protectedWire).toList();
        var firstMessages = new WireMessages(wires.getFirst());
        if (connecting) {
            LaneHandshake.awaitReady(firstMessages, deadline);
        } else {
            LaneHandshake.sendReady(firstMessages, deadline);
        }
        List<TcpLane> made = new ArrayList<>(lanes.size());
        try {
            for (int i = 0; i < lanes.size(); i++) {
                made.add(new TcpLane(
                        wires.get(i),
                        lanes.get(i).socket,
                        memory,
                        sockets,
                        departures,
                        checks,
                        reason -> endpoint.lost("peer %s: %s".formatted(peer.name(), reason), FabricError.FLUSHED)));
            }
            return new TcpLink(peer.hello(), peer.bytes(), made.toArray(TcpLane[]::new), peer.name());
        } catch (RuntimeException | Error e) { // also without memory for all of them
            made.forEach(TcpLane::release);
            throw e;
        }
    }

    @Override
    protected @Nullable Consumer<OpenLane> streamTaker(LaneHandshake.Claim claim) {
        if (!options.channels()) {
            throw new HandshakeException("its option %s is false".formatted(TcpOptions.CHANNELS));
        }
        TcpEndpoint owner = connections.find(endpoint -> endpoint.isForStream(claim));
        return owner == null ? null : lane -> owner.streams().arrived(claim.high(), stream(lane));
    }

    /** {@link Streams.Opener}. */
    private void startStream(Peer peer, long tag, Duration timeout, Consumer<@Nullable FabricStream> over) {
        Deadline deadline = connections.handshakeDeadline().atMost(timeout);
        boolean runs = false;
        try {
            runs = connections.run("stream", () -> over.accept(openStream(peer, tag, deadline)));
        } catch (RuntimeException | Error e) { // such as: no memory for another thread
            failed(peer, e);
        }
        if (!runs) {
            over.accept(null);
        }
    }

    private @Nullable FabricStream openStream(Peer peer, long tag, Deadline deadline) {
        try {
            return stream(connectStream(peer, tag, deadline));
        } catch (RuntimeException | Error e) {
            failed(peer, e);
            return null;
        }
    }

    private void failed(Peer peer, Throwable e) {
        Unrecoverable.report(e);
        log("stream", "cannot open a stream to %s: %s".formatted(peer.name(), e.getMessage()));
    }

    /** Takes the socket out of the lane. Nothing is sent, not even the end of TLS. */
    private static FabricStream stream(OpenLane lane) {
        return new FabricStream(lane.socket.detach(), lane.keys);
    }

    @Override
    protected void agreed(OpenLane lane, @Nullable FabricKeys keys) {
        lane.keys = keys;
    }

    @Override
    protected void interrupt(OpenLane lane) {
        // Only shut down: the blocked call of the lane's thread then fails, and that thread aborts the wire.
        lane.wire.shutdown();
    }

    @Override
    protected void discard(OpenLane lane) {
        lane.wire.abort();
    }

    @Override
    protected void stopAccepting() {
        acceptLoop.stop();
        server.close();
    }
}
