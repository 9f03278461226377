package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.PeerCredentials;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.RequestCounts;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.Goodbye;
import dev.lite.session.protocol.SessionMessage.Hello;
import dev.lite.session.protocol.SessionMessage.Refused;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionMessage.Welcome;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.tier.TierSession;
import dev.lite.tier.channel.NodeChannels;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection of an application, from its Hello to its end. Runs on a thread of its own, which receives the control
 * messages. Only this thread releases resources, in one place: {@link #tearDown}.
 */
final class NodeSession implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(NodeSession.class);

    /** Replies fit into the socket's buffer. If it stays full for this time, the application does not read. */
    private static final long SEND_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(1);

    /** Lines about failed operations of one session. */
    private static final int LINES_MAX = 10;

    private static final Duration LINES_PERIOD = Duration.ofSeconds(10);

    private final long id;
    private final SessionChannel channel;
    private final SessionServer server;
    private final SessionServerConfig config;
    private final SessionBackend backend;
    private final HandleTable handles;
    /** Why the session ends; the first reason is kept. */
    private final AtomicReference<@Nullable String> endReason = new AtomicReference<>();

    private final AtomicBoolean begun = new AtomicBoolean();

    private volatile @Nullable SessionInfo info;
    private @Nullable String admitted; // the principal
    private int uid = -1; // before the credentials are known
    private volatile @Nullable TierSession tier; // written by this session's thread
    private final RequestCounts requestCounts = new RequestCounts();
    private @Nullable ControlRequestHandler requests;
    private @Nullable ChannelRequests channels;
    /** Written by the session's thread. */
    private volatile @Nullable SessionWorker worker;

    private boolean serving;
    /** What the line about its begin ended with; null: there was none, and there will be none about its end. */
    private @Nullable String logged;

    /** Takes over the channel. */
    NodeSession(
            long id, SessionChannel channel, SessionServer server, SessionServerConfig config, SessionBackend backend) {
        this.id = id;
        this.channel = channel;
        this.server = server;
        this.config = config;
        this.backend = backend;
        handles = new HandleTable(config.handlesMax());
    }

    /** What an operator sees, or null before the session is admitted. */
    @Nullable
    SessionInfo info() {
        SessionInfo known = info;
        return known == null
                ? null
                : new SessionInfo(
                        known.id(),
                        known.pid(),
                        known.uid(),
                        known.principal(),
                        known.application(),
                        handles.size(),
                        known.since(),
                        locks(),
                        operations());
    }

    private List<String> locks() {
        TierSession current = tier;
        return current == null
                ? List.of()
                : current.sync().held().stream()
                        .sorted()
                        .limit(SessionInfo.LOCKS_MAX)
                        .toList();
    }

    private Map<Kind, Count> operations() {
        SessionWorker current = worker;
        if (current == null) {
            return Map.of();
        }
        Map<Kind, Count> sums = current.operations();
        requestCounts.addTo(sums);
        return sums;
    }

    @Override
    public void run() {
        if (begun.compareAndSet(false, true)) {
            runOnce();
        }
    }

    /**
     * Ends and releases it on this thread if no thread runs it, also not later.
     *
     * @return false if a thread runs it
     */
    boolean endUnbegun(String reason) {
        if (!begun.compareAndSet(false, true)) {
            return false;
        }
        drop(reason);
        runOnce();
        return true;
    }

    private void runOnce() {
        String reason = "the application closed the connection or died";
        try {
            if (greet()) {
                reason = serve();
            }
        } catch (ProtocolException invalid) {
            reason = "it violated the protocol: " + invalid.getMessage();
        } catch (OsException failed) {
            reason = "the control channel failed: " + failed.getMessage();
        } catch (RuntimeException | Error broken) {
            Unrecoverable.report(broken);
            LOG.error("{} failed", name(), broken);
            reason = "the node failed: " + broken;
        } finally {
            end(reason);
            tearDown();
        }
    }

    /**
     * Ends the session and sends the reason to the application. Any thread; only the first reason counts. The session's
     * own thread releases its resources.
     */
    void end(String reason) {
        if (!endReason.compareAndSet(null, reason)) {
            return;
        }
        try {
            channel.send(new Goodbye(reason));
        } catch (OsException notSent) {
            LOG.debug("{}: cannot send the reason of the end", name(), notSent);
        }
        // Wakes the receiving thread. What was sent before still arrives.
        channel.shutdown();
    }

    /** {@link #end} for an application that does not read: sends nothing, and ends the wait of threads that send. */
    void drop(String reason) {
        endReason.compareAndSet(null, reason);
        channel.shutdown();
    }

    private boolean greet() throws ProtocolException {
        uid = channel.peerCredentials().uid();
        if (endReason.get() != null) {
            return false; // dropped while it waited for its turn
        }
        channel.setTimeout(config.helloTimeout().toNanos(), SEND_TIMEOUT_NS);
        Hello hello;
        try {
            SessionMessage first = channel.receive();
            if (first == null) {
                return false;
            }
            if (!(first instanceof Hello said)) {
                throw new ProtocolException("it began with %s instead of Hello"
                        .formatted(first.getClass().getSimpleName()));
            }
            hello = said;
            server.greeted(uid, this);
        } catch (ProtocolException invalid) {
            refuse(LiteException.Code.SESSION_LOST, invalid.getMessage());
            throw invalid;
        } catch (OsException failed) {
            if (failed.errno() == Errno.EAGAIN) {
                refuse(LiteException.Code.TIMEOUT, "no hello within " + config.helloTimeout());
                return false;
            }
            throw failed;
        }
        return admit(hello);
    }

    private boolean admit(Hello hello) {
        PeerCredentials peer = channel.peerCredentials();
        if (!hello.fits()) {
            return refuse(
                    LiteException.Code.SESSION_LOST,
                    "this node speaks session protocol %d to %d, the client %d to %d"
                            .formatted(
                                    SessionProtocol.OLDEST_VERSION,
                                    SessionProtocol.VERSION,
                                    hello.oldest(),
                                    hello.version()));
        }
        if (hello.application().isBlank() || hello.application().chars().anyMatch(Character::isISOControl)) {
            // The name appears in log lines.
            return refuse(LiteException.Code.SESSION_LOST, "the application's name is blank or has control characters");
        }
        String principal;
        switch (config.policy().decide(peer, hello.token())) {
            case PrincipalPolicy.Rejected no -> {
                return refuse(LiteException.Code.SESSION_LOST, no.reason());
            }
            case PrincipalPolicy.Admitted yes -> principal = yes.principal();
        }
        String full = server.admit(principal);
        if (full != null) {
            return refuse(LiteException.Code.LIMIT_EXCEEDED, full);
        }
        admitted = principal;
        try {
            tier = backend.open(principal, hello.application());
        } catch (LiteException no) {
            return refuse(no.code(), no.getMessage());
        }
        info = new SessionInfo(
                id, peer.pid(), peer.uid(), principal, hello.application(), 0, Instant.now(), List.of(), Map.of());
        welcome(tier, principal, hello.sessionVersion());
        return true;
    }

    private void welcome(TierSession opened, String principal, int version) {
        SharedMemory memory =
                SharedMemory.createMemfd("lite-session-" + id, config.area().bytes());
        RepeatedLines lines = new RepeatedLines(LINES_MAX, LINES_PERIOD);
        SessionLocks locks = new SessionLocks(opened.sync());
        RpcCommands rpc =
                new RpcCommands(name(), opened, locks, server.lockWaits(), lines, server.receivedCalls(principal));
        SessionWorker newWorker = new SessionWorker(
                name(),
                "lite-session-%d-data".formatted(id),
                server.watch(),
                memory,
                config.area(),
                handles,
                rpc,
                locks,
                config.spins(),
                config.restAfter().toNanos(),
                backend.transfersMax(),
                lines,
                server.furtherThreads(principal),
                this::end);
        worker = newWorker;
        opened.sync()
                .whenLocksLost(() -> newWorker.announceLocksLost(opened.sync().locksLost()));
        // With smaller windows the length of a message would decide whether a call fails, and the way that it took.
        NodeChannels node = config.area().windowBytes() < NodeChannels.WINDOW_BYTES ? null : backend.channels();
        ChannelRequests newChannels = new ChannelRequests(
                name(), node, principal, rpc, channel, version >= SessionProtocol.LINKS_VERSION, this::drop);
        channels = newChannels;
        requests = new ControlRequestHandler(
                name(),
                opened,
                handles,
                rpc,
                newChannels,
                locks,
                config,
                channel,
                lines,
                requestCounts,
                this::end,
                this::drop);
        channel.send(
                new Welcome(version, id, backend.nodeName(), principal, config.area(), config.requestsMax()),
                memory.descriptor());
        // From here on the application may be silent for any time.
        channel.setTimeout(0, SEND_TIMEOUT_NS);
        newWorker.start();
        serving = true;
        logged = server.lineSuffix("opened", uid);
        if (logged != null) {
            LOG.info("{} opened: {}{}", name(), info, logged);
        }
    }

    private boolean refuse(LiteException.Code code, @Nullable String reason) {
        String suffix = server.lineSuffix("refused", uid);
        if (suffix != null) {
            LOG.warn("{}: refused: {}{}", name(), reason, suffix);
        }
        endReason.compareAndSet(null, "refused");
        try {
            channel.send(new Refused(SessionProtocol.VERSION, code.number(), String.valueOf(reason)));
        } catch (OsException notSent) {
            LOG.debug("{}: cannot send the refusal", name(), notSent);
        }
        channel.shutdown();
        return false;
    }

    private String serve() throws ProtocolException {
        ControlRequestHandler handler = requests;
        RequestPace pace = new RequestPace();
        SessionMessage message;
        while (handler != null && endReason.get() == null && (message = channel.receive()) != null) {
            if (message instanceof Request request) {
                boolean unused = pace.step();
                handler.handle(request);
            } else if (message instanceof Goodbye) {
                // The log does not show its text. Nothing is shut down here: the application waits for the end of the
                // connection, which reports that everything was released.
                endReason.compareAndSet(null, "the application detached");
                break;
            } else {
                throw new ProtocolException(
                        "an unexpected " + message.getClass().getSimpleName());
            }
        }
        return "the application closed the connection or died";
    }

    private void tearDown() {
        try {
            drain();
        } finally {
            try {
                if (tier != null) {
                    tier.close();
                }
            } catch (RuntimeException broken) {
                LOG.error("{}: releasing its resources failed", name(), broken);
            } finally {
                if (worker != null) {
                    worker.interrupt();
                }
                channel.close();
                server.greeted(uid, this);
                server.remove(this, admitted);
                if (logged != null) {
                    LOG.info("{} ended: {}", name(), endReason.get());
                }
            }
        }
    }

    /** Waits until no operation of this session runs: first its data threads, then its control requests. */
    private void drain() {
        Duration longest = server.drainMax();
        long deadlineNs = System.nanoTime() + longest.toNanos();
        boolean drained = true;
        if (channels != null) {
            channels.end(); // also the requests that open one
        }
        if (worker != null) {
            worker.stop();
            if (serving) {
                drained = worker.awaitEnd(deadlineNs);
                worker.interruptAlone(); // after its threads, which start them
            } else {
                worker.discard();
            }
        }
        if (tier != null) {
            tier.sync().endWaits(); // ends the requests that wait for a lock
        }
        if (requests != null) {
            drained &= requests.drain(deadlineNs);
        }
        if (!drained) {
            LOG.warn(
                    "{}: an operation had not ended after {}; the session's resources are released all the same",
                    name(),
                    Durations.text(longest));
        }
    }

    private String name() {
        return "session %d of node %s".formatted(id, backend.nodeName());
    }
}
