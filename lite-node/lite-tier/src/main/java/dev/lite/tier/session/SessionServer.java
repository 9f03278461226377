package dev.lite.tier.session;

import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.session.protocol.SessionChannel;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets local applications attach to this node. {@link #start} and {@link #close} are called by who owns it; the rest by any
 * thread.
 *
 * <p><b>Threads.</b> One accepts, one {@linkplain SessionWatch watches}. Each session has two platform threads, one for its control channel and
 * one for its data path, one more for each command that takes long, and a bounded number of virtual ones. A connection that was not admitted yet has one thread, and there are at most
 * {@value #GREETINGS_MAX} of these beside the sessions.
 */
public final class SessionServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SessionServer.class);
    private static final int BACKLOG = 64;
    private static final int GREETINGS_MAX = 32;
    private static final long CLOSE_WAIT_NS = TimeUnit.SECONDS.toNanos(15);
    private static final long ACCEPT_PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private final SessionServerConfig config;
    private final SessionBackend backend;
    private final SessionWatch watch = new SessionWatch();
    private final Map<NodeSession, Thread> connections = new ConcurrentHashMap<>();
    private final AtomicInteger sessions = new AtomicInteger();
    private long lastId;
    private @Nullable UnixServerSocket listening;
    private @Nullable Thread acceptor;
    private volatile boolean closed;

    /** A server that does not listen yet. */
    public SessionServer(SessionServerConfig config, SessionBackend backend) {
        this.config = config;
        this.backend = backend;
    }

    /**
     * Listens and serves.
     *
     * @throws OsException EADDRINUSE when another process listens on the socket, ENOENT without its directory
     * @throws IllegalStateException when it was started before
     */
    public synchronized void start() {
        if (listening != null || closed) {
            throw new IllegalStateException("the session server on %s was started before".formatted(config.socket()));
        }
        UnixServerSocket bound = UnixServerSocket.bind(config.socket(), config.socketMode(), BACKLOG);
        listening = bound;
        watch.start();
        acceptor = Thread.ofPlatform().daemon().name("lite-session-accept").start(() -> accept(bound));
        LOG.info(
                "node {} takes sessions on {} ({} slots with windows of {} bytes each, at most {} sessions)",
                backend.nodeName(),
                config.socket(),
                config.area().slots(),
                config.area().windowBytes(),
                config.sessionsMax());
    }

    /** Who looks at the data threads. */
    SessionWatch watch() {
        return watch;
    }

    /** Where it listens. */
    public Path socket() {
        return config.socket();
    }

    /** The sessions that are open now, the oldest first. */
    public List<SessionInfo> sessions() {
        return connections.keySet().stream()
                .map(NodeSession::info)
                .filter(Objects::nonNull)
                .sorted(Comparator.comparingLong(SessionInfo::id))
                .toList();
    }

    private void accept(UnixServerSocket server) {
        while (!closed) {
            UnixSocket socket;
            try {
                socket = server.accept();
            } catch (OsException failed) {
                if (closed || failed.errno() == Errno.EBADF || failed.errno() == Errno.EINVAL) {
                    return;
                }
                // No descriptor or memory left: the peer waits in the queue until there is.
                LOG.error("cannot take a session on {}", config.socket(), failed);
                LockSupport.parkNanos(ACCEPT_PAUSE_NS);
                continue;
            }
            begin(socket);
        }
    }

    private void begin(UnixSocket socket) {
        if (connections.size() >= config.sessionsMax() + GREETINGS_MAX) {
            LOG.warn(
                    "{} connections on {}; the limit is {}: another one is closed without a word",
                    connections.size(),
                    config.socket(),
                    config.sessionsMax() + GREETINGS_MAX);
            socket.close();
            return;
        }
        long id = ++lastId;
        NodeSession session = new NodeSession(id, new SessionChannel(socket), this, config, backend);
        Thread thread = Thread.ofPlatform()
                .daemon()
                .name("lite-session-%d-control".formatted(id))
                .unstarted(session);
        connections.put(session, thread);
        thread.start();
        if (closed) {
            session.end("the node stops");
        }
    }

    /** Counts a session in: -1, or how many there are when there may be no more. */
    int admit() {
        int before = sessions.getAndUpdate(now -> now < config.sessionsMax() ? now + 1 : now);
        return before < config.sessionsMax() ? -1 : before;
    }

    /** A connection has ended and given everything back. */
    void remove(NodeSession session, boolean admitted) {
        if (admitted) {
            sessions.decrementAndGet();
        }
        connections.remove(session);
    }

    /** Stops to listen, ends all sessions and waits until they have given everything back, at most 15 s. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (listening != null) {
            listening.close();
        }
        long deadlineNs = System.nanoTime() + CLOSE_WAIT_NS;
        join(acceptor, deadlineNs);
        connections.keySet().forEach(session -> session.end("node %s stops".formatted(backend.nodeName())));
        connections.values().forEach(thread -> join(thread, deadlineNs));
        if (!connections.isEmpty()) {
            LOG.warn("{} sessions on {} have not ended in time", connections.size(), config.socket());
        }
        watch.close();
    }

    private static void join(@Nullable Thread thread, long deadlineNs) {
        if (thread == null) {
            return;
        }
        try {
            thread.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadlineNs - System.nanoTime())));
        } catch (InterruptedException hurried) {
            Thread.currentThread().interrupt();
        }
    }
}
