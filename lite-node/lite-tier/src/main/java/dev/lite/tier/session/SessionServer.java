package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.os.AcceptLoop;
import dev.lite.os.OsException;
import dev.lite.os.SocketWaits;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.os.waiting.Counts;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.tier.FairShares;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets local applications attach to this node. The owner calls {@link #start} and {@link #close}; any thread may call the rest.
 *
 * <p><b>Threads.</b> One thread accepts connections, one {@linkplain SocketWaits waits} for control messages, and one
 * {@linkplain SessionWatch watches} the data paths. Each session has a virtual thread for its control channel (before Linux 6.16 a
 * platform thread: see {@link UnixServerSocket#bindForStrangers}), a bounded number of
 * virtual threads for its requests and for {@linkplain PostedTransfers commands that wait}, and a platform thread for its data path
 * until it {@linkplain RestingSessions rests}. All sessions together have {@value #FURTHER_THREADS_MAX} more for slow commands,
 * divided among principals. A connection that is not admitted yet
 * has one virtual thread; at most {@value #GREETINGS_MAX} such connections exist. They are {@linkplain FairShares divided} among user
 * ids, as the sessions are among principals. A user id's oldest one ends for a new one: LITE's client says hello at once.
 */
public final class SessionServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SessionServer.class);
    private static final int BACKLOG = 64;
    private static final int GREETINGS_MAX = 32;
    private static final int LINES_MAX = 50;
    private static final Duration LINES_PERIOD = Duration.ofSeconds(10);
    private static final long CLOSE_WAIT_NS = TimeUnit.SECONDS.toNanos(15);
    /** How long the accepting thread sleeps after each connection that comes too fast. Otherwise a flood of them takes a processor. */
    private static final long SLOW_PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(1);

    /** Threads that execute commands while another one of their session waits for a peer. */
    private static final int FURTHER_THREADS_MAX = 256;

    private static final int RECEIVED_PARTS_MAX = 128;

    /** Threads that wait for locks in place of applications. */
    private static final int LOCK_WAITS_MAX = 32;

    private static final long LOCK_WAITER_IDLE_S = 5;
    static final Duration DRAIN_MAX = Duration.ofSeconds(10);

    private final SessionServerConfig config;
    private final Binding binding;
    private final Duration drainMax;
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
    private final AttachPace pace = new AttachPace();
    /** The connections whose turn has not come, and their threads. Who removes one starts its thread, or runs it. */
    private final Map<NodeSession, Thread> waiting = new ConcurrentHashMap<>();

    private final ScheduledExecutorService turns = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("lite-session-turns").factory());
    /** By principal. */
    private final FairShares sessions;
    /** Threads of sessions beyond the first one of each, by principal. */
    private final FairShares furtherThreads = new FairShares(FURTHER_THREADS_MAX);

    /** Parts of {@value ReceivedCalls#PART} calls that sessions have received and not answered, by principal. */
    private final FairShares receivedCalls = new FairShares(RECEIVED_PARTS_MAX);

    /** The connections that have not said hello, by user id, oldest first. Guarded by itself. */
    private final Map<Integer, Deque<NodeSession>> silent = new HashMap<>();
    /** Lines that attaching processes cause. */
    private final RepeatedLines lines = new RepeatedLines(LINES_MAX, LINES_PERIOD);
    /** The operations of the sessions that have ended; also the lock of their removal. */
    private final Map<Kind, Count> ended = new EnumMap<>(Kind.class);
    /** Used by the acceptor's thread only. */
    private long lastId;

    @GuardedBy("this")
    private @Nullable UnixServerSocket listening;

    @GuardedBy("this")
    private @Nullable SocketWaits control;

    @GuardedBy("this")
    private @Nullable AcceptLoop<UnixSocket> acceptLoop;

    @GuardedBy("this")
    private @Nullable Thread acceptor;

    private volatile boolean closed;

    /** Makes the socket. */
    interface Binding {
        /** As {@link UnixServerSocket#bind}. */
        UnixServerSocket bind(Path path, int mode, int backlog);
    }

    /** Creates a server that does not listen yet. */
    public SessionServer(SessionServerConfig config, SessionBackend backend) {
        this(config, backend, UnixServerSocket::bindForStrangers, DRAIN_MAX);
    }

    /** With a socket as an older kernel makes it, and with another {@link #drainMax}, for tests. */
    SessionServer(SessionServerConfig config, SessionBackend backend, Binding binding, Duration drainMax) {
        this.binding = binding;
        this.drainMax = drainMax;
        this.config = config;
        this.backend = backend;
        this.sessions = new FairShares(config.sessionsMax());
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
        UnixServerSocket bound = binding.bind(config.socket(), config.socketMode(), BACKLOG);
        listening = bound;
        watch.start();
        SocketWaits waits = new SocketWaits("lite-session-control", LOG::error);
        control = waits;
        AcceptLoop<UnixSocket> loop = new AcceptLoop<>(
                bound::accept,
                socket -> accepted(socket, waits, bound.refusesDescriptors()),
                // Out of descriptors or memory: further clients wait in the queue until the next attempt.
                failure -> LOG.error("cannot accept a session on {}", config.socket(), failure));
        acceptLoop = loop;
        acceptor = Thread.ofPlatform().daemon().name("lite-session-accept").start(loop);
        LOG.info(
                "node {} accepts sessions on {} ({} slots with windows of {} bytes each, at most {} sessions)",
                backend.nodeName(),
                config.socket(),
                config.area().slots(),
                config.area().windowBytes(),
                config.sessionsMax());
    }

    /** How long the end of a session waits for its operations before it closes their tier session. */
    Duration drainMax() {
        return drainMax;
    }

    /** Watches the data threads of all sessions. */
    SessionWatch watch() {
        return watch;
    }

    /** Runs waits for locks; rejects further ones while it has {@value #LOCK_WAITS_MAX}. */
    Executor lockWaits() {
        return lockWaits;
    }

    /** The places of a principal for more than one data thread in a session. */
    FairShares.Share furtherThreads(String principal) {
        return furtherThreads.share(principal);
    }

    /** The places of a principal for parts of {@value ReceivedCalls#PART} calls. */
    FairShares.Share receivedCalls(String principal) {
        return receivedCalls.share(principal);
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

    private void accepted(UnixSocket socket, SocketWaits waits, boolean refusesDescriptors) {
        int uid;
        try {
            uid = socket.peerCredentials().uid();
        } catch (OsException gone) {
            socket.close();
            return;
        }
        if (connections.size() >= config.sessionsMax() + 2 * GREETINGS_MAX) {
            // Sessions that end slowly, and connections that are being admitted.
            log(uid, "closing a connection", "%d connections are open".formatted(connections.size()));
            socket.close();
            return;
        }
        SessionChannel channel;
        try {
            channel = new SessionChannel(socket, waits);
        } catch (OsException full) {
            log(uid, "closing a connection", full.toString());
            return;
        }
        long id = ++lastId;
        NodeSession session = new NodeSession(id, channel, this, config, backend);
        // Otherwise the thread closes descriptors of the application's, for as long as that wants, and would hold a
        // carrier.
        Thread.Builder threads =
                refusesDescriptors ? Thread.ofVirtual() : Thread.ofPlatform().daemon();
        Thread thread = threads.name("lite-session-%d-control".formatted(id)).unstarted(session);
        waiting.put(session, thread); // before others can drop it
        connections.put(session, thread);
        boolean begun = false;
        try {
            begin(uid, session);
            begun = true;
        } finally {
            if (!begun) {
                drop(session, "the node cannot begin a session now");
            }
        }
        if (closed) {
            session.end("the node is stopping");
        }
    }

    /** Starts the session's thread, at once or later. */
    private void begin(int uid, NodeSession session) {
        long waitNs = pace.takeTurn(uid);
        addSilent(uid, session);
        if (waitNs == 0) {
            startWaiting(session);
            return;
        }
        // Connections of other users wait meanwhile, but not for longer than BACKLOG such pauses.
        Polling.sleepNs(SLOW_PAUSE_NS);
        log(
                uid,
                "slowing attaches",
                "more than %d in %s".formatted(AttachPace.ATTACHES, Durations.text(AttachPace.PERIOD)));
        try {
            Object unused = turns.schedule(() -> startOrLog(session), waitNs, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException closing) {
            startWaiting(session);
        }
    }

    /** Starts its thread if it waits. If this throws, the session has ended. */
    private void startWaiting(NodeSession session) {
        Thread thread = waiting.remove(session);
        if (thread == null) {
            return;
        }
        try {
            thread.start();
        } catch (RuntimeException | Error e) {
            // There is no memory for a thread; but a virtual one may run all the same.
            if (session.endUnbegun("the node cannot begin a session now")) {
                throw e;
            }
        }
    }

    private void startOrLog(NodeSession session) {
        try {
            startWaiting(session);
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            LOG.error("cannot begin a session on {}", config.socket(), e);
        }
    }

    /** Drops a connection that has said no hello. Its own thread releases it, which may take long. */
    private void drop(NodeSession session, String reason) {
        session.drop(reason);
        startWaiting(session);
    }

    private void addSilent(int uid, NodeSession session) {
        NodeSession oldest = null;
        synchronized (silent) {
            Deque<NodeSession> ofUid = silent.computeIfAbsent(uid, any -> new ArrayDeque<>());
            int all = silent.values().stream().mapToInt(Deque::size).sum();
            if (!FairShares.allows(ofUid.size(), all, GREETINGS_MAX)) {
                Deque<NodeSession> from = ofUid;
                for (Deque<NodeSession> other : silent.values()) {
                    from = other.size() > from.size() ? other : from;
                }
                oldest = from.poll();
            }
            ofUid.add(session);
        }
        if (oldest != null) {
            log(uid, "closing the oldest connection that has said no hello", "%d may wait".formatted(GREETINGS_MAX));
            drop(oldest, "too many connections say no hello");
        }
    }

    /** A connection has said hello, or has ended. */
    void greeted(int uid, NodeSession session) {
        synchronized (silent) {
            Deque<NodeSession> ofUid = silent.get(uid);
            if (ofUid != null && ofUid.remove(session) && ofUid.isEmpty()) {
                silent.remove(uid);
            }
        }
    }

    private void log(int uid, String what, String detail) {
        String suffix = lines.suffix(what + uid);
        if (suffix != null) {
            LOG.warn("{} of user id {} on {}: {}{}", what, uid, config.socket(), detail, suffix);
        }
    }

    /** What to append to a log line that a process of this user caused; null: do not write it. */
    @Nullable
    String lineSuffix(String kind, int uid) {
        return lines.suffix(kind + uid);
    }

    /** Counts a new session. Returns null, or why there is no place for it. */
    @Nullable
    String admit(String principal) {
        if (sessions.take(principal)) {
            return null;
        }
        int all = sessions.taken();
        return all >= config.sessionsMax()
                ? "node %s has %d sessions; the limit is %d".formatted(backend.nodeName(), all, config.sessionsMax())
                : "\"%s\" has %d of the %d sessions of node %s; the limit is %d, and one principal may have as many as it leaves free"
                        .formatted(principal, sessions.of(principal), all, backend.nodeName(), config.sessionsMax());
    }

    /**
     * A connection has ended and released everything.
     *
     * @param admitted its principal if it was admitted, or null
     */
    void remove(NodeSession session, @Nullable String admitted) {
        if (admitted != null) {
            sessions.giveBack(admitted);
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
        if (acceptLoop != null) {
            acceptLoop.stop();
        }
        if (listening != null) {
            listening.close();
        }
        long deadlineNs = System.nanoTime() + CLOSE_WAIT_NS;
        join(acceptor, deadlineNs);
        turns.shutdownNow();
        waiting.keySet().forEach(this::startOrLog);
        connections.keySet().forEach(this::endSoon);
        connections.values().forEach(thread -> join(thread, deadlineNs));
        if (!connections.isEmpty()) {
            String left = Counts.text(connections.size(), "session", "sessions");
            LOG.warn("{} on {} had not ended after 15 s", left, config.socket());
        }
        watch.close();
        if (control != null) {
            control.close();
        }
        lockWaits.shutdownNow();
    }

    /** On a thread of its own: it waits for up to a second if the application does not read, and many may not. */
    private void endSoon(NodeSession session) {
        String reason = "node %s is stopping".formatted(backend.nodeName());
        try {
            Thread unused = Thread.ofVirtual().name("lite-session-end").start(() -> session.end(reason));
        } catch (OutOfMemoryError e) { // no memory for a thread
            session.end(reason);
        }
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
