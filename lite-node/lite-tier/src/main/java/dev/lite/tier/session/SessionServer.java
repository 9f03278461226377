package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.os.waiting.Polling;
import dev.lite.session.protocol.SessionChannel;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets local applications attach to this node. The owner calls {@link #start} and {@link #close}; any thread may call the rest.
 *
 * <p><b>Threads.</b> One thread accepts connections and one {@linkplain SessionWatch watches} the data paths. Each session has a
 * platform thread for its control channel, one for its data path, one more for each slow command, and a bounded number of virtual
 * threads. A connection that is not admitted yet has one thread; at most {@value #GREETINGS_MAX} such connections exist.
 */
public final class SessionServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SessionServer.class);
    private static final int BACKLOG = 64;
    private static final int GREETINGS_MAX = 32;
    private static final long CLOSE_WAIT_NS = TimeUnit.SECONDS.toNanos(15);
    private static final long ACCEPT_PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(100);

    /** Threads that wait for locks in place of applications. */
    private static final int LOCK_WAITS_MAX = 32;

    private static final long LOCK_WAITER_IDLE_S = 5;

    private final SessionServerConfig config;
    private final SessionBackend backend;
    private final SessionWatch watch = new SessionWatch();
    private final ThreadPoolExecutor lockWaits = new ThreadPoolExecutor(
            0,
            LOCK_WAITS_MAX,
            LOCK_WAITER_IDLE_S,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            Thread.ofPlatform().daemon().name("lite-session-lock-", 0).factory());
    private final Map<NodeSession, Thread> connections = new ConcurrentHashMap<>();
    private final AtomicInteger sessions = new AtomicInteger();
    /** The operations of the sessions that have ended; also the lock of their removal. */
    private final Map<Kind, Count> ended = new EnumMap<>(Kind.class);
    /** Used by the acceptor's thread only. */
    private long lastId;

    @GuardedBy("this")
    private @Nullable UnixServerSocket listening;

    @GuardedBy("this")
    private @Nullable Thread acceptor;

    private volatile boolean closed;

    /** Creates a server that does not listen yet. */
    public SessionServer(SessionServerConfig config, SessionBackend backend) {
        this.config = config;
        this.backend = backend;
    }

    /**
     * Starts to listen.
     *
     * @throws OsException EADDRINUSE when another process listens on the socket, ENOENT without its directory
     * @throws IllegalStateException when it was already started
     */
    public synchronized void start() {
        if (listening != null || closed) {
            throw new IllegalStateException("the session server on %s was already started".formatted(config.socket()));
        }
        UnixServerSocket bound = UnixServerSocket.bind(config.socket(), config.socketMode(), BACKLOG);
        listening = bound;
        watch.start();
        acceptor = Thread.ofPlatform().daemon().name("lite-session-accept").start(() -> accept(bound));
        LOG.info(
                "node {} accepts sessions on {} ({} slots with windows of {} bytes each, at most {} sessions)",
                backend.nodeName(),
                config.socket(),
                config.area().slots(),
                config.area().windowBytes(),
                config.sessionsMax());
    }

    /** Watches the data threads of all sessions. */
    SessionWatch watch() {
        return watch;
    }

    /** Runs waits for locks; rejects further ones while it has {@value #LOCK_WAITS_MAX}. */
    Executor lockWaits() {
        return lockWaits;
    }

    /** The socket on which it listens. */
    public Path socket() {
        return config.socket();
    }

    /** The open sessions, oldest first. */
    public List<SessionInfo> sessions() {
        return connections.keySet().stream()
                .map(NodeSession::info)
                .filter(Objects::nonNull)
                .sorted(Comparator.comparingLong(SessionInfo::id))
                .toList();
    }

    /** What all sessions have asked for since the start of the node, also those that have ended. */
    public Map<Kind, Count> operations() {
        EnumMap<Kind, Count> sums = new EnumMap<>(Kind.class);
        synchronized (ended) { // a session that ends meanwhile is counted once
            ended.forEach((kind, count) -> sums.merge(kind, count, Count::plus));
            sessions()
                    .forEach(session ->
                            session.operations().forEach((kind, count) -> sums.merge(kind, count, Count::plus)));
        }
        return sums;
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
                // Out of descriptors or memory: the client waits in the queue until the next attempt.
                LOG.error("cannot accept a session on {}", config.socket(), failed);
                Polling.sleepNs(ACCEPT_PAUSE_NS);
                continue;
            }
            begin(socket);
        }
    }

    private void begin(UnixSocket socket) {
        if (connections.size() >= config.sessionsMax() + GREETINGS_MAX) {
            LOG.warn(
                    "{} connections on {}, the limit is {}: closing another one",
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
            session.end("the node is stopping");
        }
    }

    /** Counts a new session. Returns -1, or the number of sessions when the limit is reached. */
    int admit() {
        int before = sessions.getAndUpdate(now -> now < config.sessionsMax() ? now + 1 : now);
        return before < config.sessionsMax() ? -1 : before;
    }

    /** A connection has ended and released everything. */
    void remove(NodeSession session, boolean admitted) {
        if (admitted) {
            sessions.decrementAndGet();
        }
        synchronized (ended) {
            SessionInfo last = session.info();
            if (connections.remove(session) != null && last != null) {
                last.operations().forEach((kind, count) -> ended.merge(kind, count, Count::plus));
            }
        }
    }

    /** Stops listening, ends all sessions, and waits at most 15 s until they have released everything. */
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
        connections.keySet().forEach(session -> session.end("node %s is stopping".formatted(backend.nodeName())));
        connections.values().forEach(thread -> join(thread, deadlineNs));
        if (!connections.isEmpty()) {
            LOG.warn("{} sessions on {} had not ended after 15 s", connections.size(), config.socket());
        }
        watch.close();
        lockWaits.shutdownNow();
    }

    private static void join(@Nullable Thread thread, long deadlineNs) {
        if (thread == null) {
            return;
        }
        try {
            thread.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadlineNs - System.nanoTime())));
        } catch (InterruptedException kept) {
            Thread.currentThread().interrupt();
        }
    }
}
