package dev.lite.fabric.shm;

import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes connections and watches them, off the poll role: a daemon thread that accepts, and one for each connection. They tell
 * what happens by events. Thread-safe.
 */
final class Connections implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Connections.class);
    private static final long ACCEPT_PAUSE_MS = 100;
    private static final long CLOSE_TIMEOUT_NS = 2_000_000_000L;

    private final String node;
    private final int connectionsMax;
    private final ShmHandshake handshake;
    /** Takes an event; false when the fabric is closed, and the event then stays the caller's. */
    private final Predicate<Event> events;

    private final UnixServerSocket server;
    private final CountDownLatch closing = new CountDownLatch(1);
    /** Guarded by this object, as what follows. */
    private final Set<ShmEndpoint> endpoints = new HashSet<>();

    private final Set<Thread> threads = new HashSet<>();
    private boolean closed;

    Connections(
            String node, ShmOptions options, ShmHandshake handshake, UnixServerSocket server, Predicate<Event> events) {
        this.node = node;
        this.connectionsMax = options.connectionsMax();
        this.handshake = handshake;
        this.server = server;
        this.events = events;
    }

    /** Begins to accept. */
    void start() {
        run("accept", this::accept);
    }

    /** Starts a connection; how it went comes as an event. */
    ShmEndpoint connect(String address) {
        var endpoint = new ShmEndpoint(false, this::ended);
        if (!add(endpoint)) {
            endpoint.lost(limitReached());
            return endpoint;
        }
        run("connect", () -> connect(endpoint, address));
        return endpoint;
    }

    private void connect(ShmEndpoint endpoint, String address) {
        try (var socket = UnixSocket.connect(Path.of(address))) {
            endpoint.use(socket);
            var link = handshake.connect(socket);
            watch(endpoint, link, socket, address);
        } catch (HandshakeException | RuntimeException e) {
            // Whatever it was, this endpoint has an end.
            endpoint.lost("cannot connect to %s: %s".formatted(address, e.getMessage()));
        }
    }

    private void accept() {
        while (closing.getCount() > 0) {
            UnixSocket socket;
            try {
                socket = server.accept();
            } catch (OsException e) {
                if (e.errno() == Errno.EBADF || e.errno() == Errno.EINVAL || !pauseAfter(e)) {
                    return;
                }
                continue;
            }
            var endpoint = new ShmEndpoint(true, this::ended);
            if (add(endpoint)) {
                run("accepted", () -> accepted(endpoint, socket));
            } else {
                LOG.warn("{}: refused a peer: {}", node, limitReached());
                handshake.refuse(socket, limitReached());
                socket.close();
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

    private void accepted(ShmEndpoint endpoint, UnixSocket socket) {
        try (socket) {
            endpoint.use(socket);
            var link = handshake.accept(socket);
            watch(endpoint, link, socket, socket.toString());
        } catch (HandshakeException | RuntimeException e) {
            // The handler never hears of it.
            remove(endpoint);
            LOG.warn("{}: a peer could not be accepted: {}", node, e.getMessage());
        }
    }

    /** Tells of the new connection, and then waits for its end. */
    private void watch(ShmEndpoint endpoint, ShmLink link, UnixSocket socket, String address) {
        int pid;
        try {
            pid = socket.peerCredentials().pid();
            socket.setTimeout(0, 0);
        } catch (OsException e) {
            link.release();
            throw e;
        }
        if (!events.test(new Event.Connected(endpoint, link))) {
            link.release();
            return;
        }
        endpoint.lost(awaitEnd(socket, "the peer (process %d, %s)".formatted(pid, address)));
    }

    private static String awaitEnd(UnixSocket socket, String peer) {
        try (var arena = Arena.ofConfined()) {
            var received = socket.receive(arena.allocate(ShmHandshake.HEADER_BYTES));
            received.closeDescriptors();
            return received.isEnd()
                    ? peer + " closed the connection or ended"
                    : "%s sent %d unexpected bytes".formatted(peer, received.length());
        } catch (OsException e) {
            return "%s: %s".formatted(peer, e.getMessage());
        }
    }

    private void ended(ShmEndpoint endpoint, String reason) {
        // Refused when the fabric is closed, which tells the handler itself.
        boolean unused = events.test(new Event.Ended(endpoint, reason));
    }

    private synchronized boolean add(ShmEndpoint endpoint) {
        return !closed && endpoints.size() < connectionsMax && endpoints.add(endpoint);
    }

    /** The endpoint has been finished, and counts no more. */
    synchronized void remove(ShmEndpoint endpoint) {
        endpoints.remove(endpoint);
    }

    private String limitReached() {
        return "node %s has %d connections, the limit (%s)".formatted(node, connectionsMax, ShmOptions.CONNECTIONS_MAX);
    }

    private synchronized void run(String role, Runnable task) {
        var thread = Thread.ofPlatform()
                .daemon()
                .name("lite-shm-%s-%s".formatted(node, role))
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
    List<ShmEndpoint> stop() {
        List<ShmEndpoint> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(endpoints);
        }
        closing.countDown();
        server.close();
        return left;
    }

    /** Waits, within bounds, for the threads to end; every endpoint has been closed before. */
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
                    // It ends by itself: at the latest when the peer that it waits for does, or the handshake's time is
                    // over.
                    LOG.warn("{}: thread {} still waits for a peer", node, thread.getName());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
