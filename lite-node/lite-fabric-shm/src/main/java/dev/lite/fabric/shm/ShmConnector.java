package dev.lite.fabric.shm;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.driver.Connections;
import dev.lite.fabric.driver.Connector;
import dev.lite.fabric.driver.HandshakeException;
import dev.lite.os.AcceptLoop;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes connections over Unix sockets. The thread that made a connection then receives the {@linkplain PassedDescriptors passed
 * descriptors} until the end of its socket, which ends the connection. Thread-safe.
 */
final class ShmConnector implements Connector<ShmEndpoint> {
    private static final Logger LOG = LoggerFactory.getLogger(ShmConnector.class);
    /** While a peer accepts nobody, a connect checks so often whether its endpoint has ended. */
    private static final long CONNECT_STEP_NS = 100_000_000;

    private final Connections<ShmEndpoint, ShmLink> connections;
    private final ShmHandshake handshake;
    private final UnixServerSocket server;
    private final AcceptLoop<UnixSocket> acceptLoop;

    /** @param server this object takes ownership of it */
    ShmConnector(Connections<ShmEndpoint, ShmLink> connections, ShmHandshake handshake, UnixServerSocket server) {
        this.connections = connections;
        this.handshake = handshake;
        this.server = server;
        acceptLoop = new AcceptLoop<>(server::accept, this::accepted, connections::cannotAccept);
    }

    @Override
    public ShmEndpoint create(boolean accepted) {
        return new ShmEndpoint(accepted);
    }

    @Override
    public void start() {
        boolean unused = connections.run("accept", acceptLoop);
    }

    @Override
    public void connect(ShmEndpoint endpoint, String address, Deadline deadline) {
        try (var socket = open(endpoint, Path.of(address), deadline)) {
            endpoint.use(socket);
            watch(endpoint, handshake.connect(socket, deadline), socket, address);
        }
    }

    /** Waits while the peer's queue is full, because the peer is paused for example. */
    private static UnixSocket open(ShmEndpoint endpoint, Path address, Deadline deadline) {
        while (true) {
            try {
                return UnixSocket.connect(address, Math.clamp(deadline.remainingNs(), 1, CONNECT_STEP_NS));
            } catch (OsException e) {
                if (e.errno() != Errno.EAGAIN) {
                    throw e;
                }
                if (endpoint.end() != null) {
                    throw new HandshakeException("closed by this node");
                }
                if (deadline.passed()) {
                    throw new HandshakeException(
                            "the peer did not accept the connection within %s".formatted(deadline));
                }
            }
        }
    }

    private void accepted(UnixSocket socket) {
        ShmEndpoint endpoint;
        try {
            endpoint = connections.accept();
        } catch (HandshakeException e) {
            LOG.warn("{}: refused a peer: {}", connections.node(), e.getMessage());
            refuse(socket, e);
            return;
        }
        boolean runs = false;
        try {
            runs = connections.run("accepted", () -> accept(endpoint, socket));
        } finally {
            if (!runs) { // also without a thread for it
                connections.forget(endpoint);
                socket.close();
            }
        }
    }

    private void refuse(UnixSocket socket, HandshakeException reason) {
        try (socket) {
            handshake.refuse(socket, String.valueOf(reason.getMessage()));
        }
    }

    private void accept(ShmEndpoint endpoint, UnixSocket socket) {
        try (socket) {
            endpoint.use(socket);
            watch(endpoint, handshake.accept(socket, connections.handshakeDeadline()), socket, socket.toString());
        } catch (RuntimeException | Error e) { // also without memory: the place is needed again
            Unrecoverable.report(e);
            // The handler does not know the endpoint yet.
            connections.forget(endpoint);
            LOG.warn("{}: cannot accept a peer: {}", connections.node(), e.getMessage());
        }
    }

    /** Passes on the new connection, then receives until its end. */
    private void watch(ShmEndpoint endpoint, ShmLink link, UnixSocket socket, String address) {
        int pid;
        try {
            pid = socket.peerCredentials().pid();
            socket.setTimeout(0, 0); // until now, those of the handshake
        } catch (RuntimeException | Error e) {
            link.release();
            throw e;
        }
        String peer = "the peer (process %d, %s)".formatted(pid, address);
        try {
            if (connections.ready(endpoint, link)) {
                endpoint.lost(receive(socket, endpoint.passed(), peer), FabricError.FLUSHED);
            }
        } catch (RuntimeException | Error e) { // the handler may know the endpoint, whose end nobody would notice
            Unrecoverable.report(e);
            endpoint.lost(peer, e);
        }
    }

    /** Receives descriptors. Returns why the connection ended. */
    private static String receive(UnixSocket socket, PassedDescriptors passed, String peer) {
        try (var arena = Arena.ofConfined()) {
            var buffer = arena.allocate(ShmHandshake.HEADER_BYTES, Long.BYTES);
            while (true) {
                var received = socket.receive(buffer);
                if (received.isEnd()) {
                    return peer + " closed the connection or ended";
                }
                if (!passed.add(buffer, received)) {
                    received.closeDescriptors();
                    return "%s sent %d unexpected bytes".formatted(peer, received.length());
                }
            }
        } catch (OsException e) {
            return "%s: %s".formatted(peer, e.getMessage());
        }
    }

    @Override
    public void stop() {
        acceptLoop.stop();
        server.close();
    }
}
