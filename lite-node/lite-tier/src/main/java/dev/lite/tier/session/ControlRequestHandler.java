package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LtBarrier;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.os.waiting.TaskStart;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.protocol.RequestCounts;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionCodec;
import dev.lite.session.protocol.SessionMessage.AcquireLock;
import dev.lite.session.protocol.SessionMessage.Acquired;
import dev.lite.session.protocol.SessionMessage.AwaitBarrier;
import dev.lite.session.protocol.SessionMessage.CancelTry;
import dev.lite.session.protocol.SessionMessage.ChannelClose;
import dev.lite.session.protocol.SessionMessage.ChannelOpen;
import dev.lite.session.protocol.SessionMessage.ChannelOpened;
import dev.lite.session.protocol.SessionMessage.ChannelTaken;
import dev.lite.session.protocol.SessionMessage.Copy;
import dev.lite.session.protocol.SessionMessage.CreateOrMap;
import dev.lite.session.protocol.SessionMessage.Describe;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Extents;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.Free;
import dev.lite.session.protocol.SessionMessage.Grant;
import dev.lite.session.protocol.SessionMessage.LockOpened;
import dev.lite.session.protocol.SessionMessage.Malloc;
import dev.lite.session.protocol.SessionMessage.Map;
import dev.lite.session.protocol.SessionMessage.MapId;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Memset;
import dev.lite.session.protocol.SessionMessage.MoveTo;
import dev.lite.session.protocol.SessionMessage.Nodes;
import dev.lite.session.protocol.SessionMessage.OpenLock;
import dev.lite.session.protocol.SessionMessage.Passed;
import dev.lite.session.protocol.SessionMessage.Prepare;
import dev.lite.session.protocol.SessionMessage.Publish;
import dev.lite.session.protocol.SessionMessage.ReleaseLock;
import dev.lite.session.protocol.SessionMessage.Reply;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionMessage.RpcOrigin;
import dev.lite.session.protocol.SessionMessage.Unmap;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.tier.TierHandle;
import dev.lite.tier.TierSession;
import dev.lite.tier.channel.OpenedChannel;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Executes a session's control requests, each on a virtual thread, up to a limit. Every request gets exactly one reply.
 */
final class ControlRequestHandler {
    private static final Logger LOG = LoggerFactory.getLogger(ControlRequestHandler.class);

    private static final int RELEASES_MAX = 2 * SessionProtocol.WAITS_MAX;

    private final String session;
    private final TierSession tier;
    private final HandleTable handles;
    private final RpcCommands rpc;
    private final ChannelRequests channels;
    private final SessionServerConfig config;
    private final SessionChannel channel;
    private final Consumer<String> end;
    private final Consumer<String> drop;
    private final Semaphore permits;
    /** For requests that wait for a lock or at a barrier: a holder must be able to release while they wait. */
    private final Semaphore waits = new Semaphore(SessionProtocol.WAITS_MAX);

    /**
     * For releases, which end waits: enough for every lock wait and attempt that the client has in flight. Also for the answers to
     * offered channels, for which other applications wait.
     */
    private final Semaphore releases = new Semaphore(RELEASES_MAX);

    /** One request at a time replies; the others keep their permits. So the permits also bound the requests that are not answered. */
    private final ReentrantLock replying = new ReentrantLock();

    private final SessionLocks locks;
    private final RepeatedLines lines;
    private final RequestCounts counts;
    /** Those of the requests under way. */
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

    /**
     * Creates the handler of one session.
     *
     * @param lines limits the log lines about failed requests
     * @param counts gets what the node has done
     * @param end called with the reason when the session must end
     * @param drop called with the reason when the application does not read its control channel
     */
    ControlRequestHandler(
            String session,
            TierSession tier,
            HandleTable handles,
            RpcCommands rpc,
            ChannelRequests channels,
            SessionLocks locks,
            SessionServerConfig config,
            SessionChannel channel,
            RepeatedLines lines,
            RequestCounts counts,
            Consumer<String> end,
            Consumer<String> drop) {
        this.counts = counts;
        this.lines = lines;
        this.locks = locks;
        this.session = session;
        this.tier = tier;
        this.handles = handles;
        this.rpc = rpc;
        this.channels = channels;
        this.config = config;
        this.channel = channel;
        this.end = end;
        this.drop = drop;
        permits = new Semaphore(config.requestsMax());
    }

    /** Starts a request. The session's own thread. */
    void handle(Request request) {
        Semaphore permit = permitsFor(request);
        if (!permit.tryAcquire()) {
            boolean unused = reply(new Failed(
                    request.requestId(),
                    LiteException.Code.LIMIT_EXCEEDED.number(),
                    RpcStatus.UNKNOWN,
                    permit == permits
                            ? "%d control requests of this session are under way; the limit is %d"
                                    .formatted(underWay(), config.requestsMax())
                            : "this session has reached its limit of %d requests that wait for locks and barriers"
                                    .formatted(SessionProtocol.WAITS_MAX)));
            return;
        }
        try {
            TaskStart.on(this::start, () -> execute(request, permit));
        } catch (RuntimeException | Error why) { // for example, no memory for a thread
            Unrecoverable.report(why);
            boolean unused = reply(permit, failed(request, why));
        }
    }

    private void start(Runnable task) {
        Thread thread = Thread.ofVirtual().name("lite-session-request").unstarted(() -> {
            try {
                task.run();
            } finally {
                threads.remove(Thread.currentThread());
            }
        });
        threads.add(thread);
        boolean started = false;
        try {
            thread.start();
            started = true;
        } finally {
            if (!started) {
                threads.remove(thread);
            }
        }
    }

    /** The requests that are counted against the session's limit: those that are executed, and those that wait to reply. */
    int underWay() {
        return config.requestsMax() - permits.availablePermits();
    }

    private void execute(Request request, Semaphore permit) {
        if (request instanceof ChannelOpen open) {
            openChannel(open, permit);
            return;
        }
        boolean unused = reply(permit, answer(request));
    }

    /** The descriptor of the memory goes with the reply, and the channel's messages follow it. */
    private void openChannel(ChannelOpen request, Semaphore permit) {
        OpenedChannel opened;
        try {
            opened = channels.open(request.client(), deadline(request.deadlineNs()));
        } catch (RuntimeException | Error why) {
            Unrecoverable.report(why);
            boolean unused = reply(permit, failed(request, why));
            return;
        }
        boolean sent = false;
        try {
            sent = reply(
                    permit,
                    new ChannelOpened(request.requestId(), opened.number(), opened.area(), opened.keys()),
                    opened.descriptor());
        } finally {
            opened.announced(sent);
        }
    }

    private Semaphore permitsFor(Request request) {
        return switch (request) {
            case AcquireLock m -> waits;
            case AwaitBarrier m -> waits;
            case ReleaseLock m -> releases;
            case CancelTry m -> releases;
            case ChannelTaken m -> releases;
            case ChannelClose m -> releases;
            default -> permits;
        };
    }

    /**
     * Rejects new requests and waits for those in flight. Nobody waits for the answers of those that are left at the
     * deadline, and their own deadlines may be far away: it interrupts them.
     *
     * @return false if the deadline passed first
     */
    boolean drain(long deadlineNs) {
        boolean drained = drain(permits, config.requestsMax(), deadlineNs)
                && drain(waits, SessionProtocol.WAITS_MAX, deadlineNs)
                && drain(releases, RELEASES_MAX, deadlineNs);
        if (!drained) {
            threads.forEach(Thread::interrupt);
        }
        return drained;
    }

    private static boolean drain(Semaphore permits, int all, long deadlineNs) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return permits.tryAcquire(all, Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException kept) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Ends a request. Returns whether the reply was sent. */
    private boolean reply(Semaphore permit, Reply reply, int... descriptors) {
        replying.lock();
        try {
            // First the permit, then the reply: the application may send its next request on the reply.
            permit.release();
            return reply(reply, descriptors);
        } finally {
            replying.unlock();
        }
    }

    /** Returns whether it was sent. Otherwise the session ends: nobody would tell the application, for example, that it has a lock. */
    private boolean reply(Reply reply, int... descriptors) {
        try {
            channel.send(reply, descriptors);
            return true;
        } catch (OsException failed) {
            switch (failed.errno()) {
                case Errno.EAGAIN -> drop.accept("the application does not read its control channel");
                case Errno.EPIPE, Errno.ECONNRESET, Errno.ECONNREFUSED, Errno.ENOTCONN, Errno.EBADF -> {
                    // the connection is closed, which the session's own thread sees, too
                }
                default -> cannotSend(failed); // for example, the system has no memory
            }
        } catch (RuntimeException | Error failed) { // for example, a name from the tier is too long for the protocol
            Unrecoverable.report(failed);
            cannotSend(failed);
        }
        return false;
    }

    private void cannotSend(Throwable failed) {
        String why = "the node's reply cannot be sent";
        try {
            why = why + ": " + failed.getMessage();
        } catch (OutOfMemoryError e) {
            // then without the reason
        }
        end.accept(why);
        LOG.error("{}: a reply cannot be sent", session, failed);
    }

    private Reply answer(Request request) {
        try {
            return switch (request) {
                case Malloc m -> mapped(m.requestId(), () -> tier.malloc(m.spec(), deadline(m.deadlineNs())));
                case Map m ->
                    mapped(m.requestId(), () -> tier.map(m.name(), m.permissions(), deadline(m.deadlineNs())));
                case CreateOrMap m ->
                    mapped(m.requestId(), () -> tier.createOrMap(m.spec(), m.permissions(), deadline(m.deadlineNs())));
                case Describe m -> describe(m.requestId(), m.lh(), handles.get(m.lh()));
                case Unmap m -> {
                    // If an operation does not end in time, the number stays, so that the application can try again.
                    handles.get(m.lh()).unmap(deadline(m.deadlineNs()));
                    handles.remove(m.lh());
                    yield new Done(m.requestId());
                }
                case Free m -> {
                    // The handle stays mapped when the tier refuses, so the application can continue to use it.
                    usable(m.lh()).free(deadline(m.deadlineNs()));
                    handles.remove(m.lh());
                    yield new Done(m.requestId());
                }
                case Extents m ->
                    SessionCodec.extentsPage(m.requestId(), handles.get(m.lh()).extents(), m.from());
                case RpcOpen m -> {
                    long number = rpc.opened().open(m.kind(), m.node(), m.name());
                    channels.opened(number);
                    yield new RpcOpened(m.requestId(), number);
                }
                case RpcClose m -> {
                    rpc.opened().close(m.id());
                    yield new Done(m.requestId());
                }
                case ChannelTaken m -> {
                    channels.taken(m.channel());
                    yield new Done(m.requestId());
                }
                case ChannelClose m -> {
                    channels.close(m.channel());
                    yield new Done(m.requestId());
                }
                case ChannelOpen m -> throw new IllegalStateException("answered by openChannel: " + m);
                case RpcOrigin m -> rpc.received().origin(m.requestId(), m.origin());
                case OpenLock m -> new LockOpened(m.requestId(), locks.open(m.name(), deadline(m.deadlineNs())));
                case AcquireLock m ->
                    new Acquired(m.requestId(), locks.acquire(m.number(), 0, deadline(m.deadlineNs())));
                case ReleaseLock m -> {
                    locks.release(m.number(), m.token());
                    yield new Done(m.requestId());
                }
                case CancelTry m -> {
                    locks.cancel(m.number(), m.attempt());
                    yield new Done(m.requestId());
                }
                case AwaitBarrier m -> new Passed(m.requestId(), await(m));
                case MapId m ->
                    mapped(m.requestId(), () -> tier.map(m.lmrId(), m.permissions(), deadline(m.deadlineNs())));
                case Prepare m -> mapped(m.requestId(), () -> tier.prepare(m.spec(), deadline(m.deadlineNs())));
                case Publish m -> publish(m);
                case Memset m -> {
                    usable(m.lh())
                            .memset(
                                    m.offset(),
                                    m.length(),
                                    m.value(),
                                    deadline(m.deadlineNs()).toNanos());
                    counts.memset(m.length()); // now: the application can ask for any length
                    yield new Done(m.requestId());
                }
                case Copy m -> {
                    tier.copy(
                            usable(m.source()),
                            m.sourceOffset(),
                            usable(m.target()),
                            m.targetOffset(),
                            m.length(),
                            m.overlapAllowed(),
                            deadline(m.deadlineNs()));
                    counts.copy(m.length());
                    yield new Done(m.requestId());
                }
                case Grant m -> {
                    usable(m.lh()).grant(m.principal(), m.permissions(), deadline(m.deadlineNs()));
                    yield new Done(m.requestId());
                }
                case MoveTo m -> {
                    usable(m.lh()).moveTo(m.node(), deadline(m.deadlineNs()));
                    yield new Done(m.requestId());
                }
                case Nodes m -> SessionCodec.nodesPage(m.requestId(), tier.nodes(), m.from());
            };
        } catch (RuntimeException | Error why) {
            Unrecoverable.report(why);
            return failed(request, why);
        }
    }

    private Failed failed(Request request, Throwable why) {
        if (why instanceof LiteException refused) {
            return new Failed(
                    request.requestId(),
                    refused.code().number(),
                    refused instanceof RpcFailedException failed ? failed.status() : RpcStatus.UNKNOWN,
                    String.valueOf(refused.getMessage()));
        }
        try {
            return described(request, why);
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            return new Failed(
                    request.requestId(),
                    LiteException.Code.RPC_FAILED.number(),
                    RpcStatus.UNKNOWN,
                    "it failed in the node, which could not say why");
        }
    }

    private Failed described(Request request, Throwable why) {
        String suffix = lines.suffix("failed");
        if (suffix != null) {
            LOG.error("{}: {} failed{}", session, request, suffix, why);
        }
        return new Failed(
                request.requestId(),
                LiteException.Code.RPC_FAILED.number(),
                RpcStatus.UNKNOWN,
                "%s failed in the node: %s".formatted(request.getClass().getSimpleName(), why));
    }

    /** The handle for an operation on it; refused while the application has not closed a lost lock. */
    private TierHandle usable(long lh) {
        locks.requireNoneLost();
        return handles.get(lh);
    }

    /** Opening the barrier and waiting have one deadline together: nobody may count a party that has given up. */
    private long await(AwaitBarrier request) {
        Deadline deadline = Deadline.in(deadline(request.deadlineNs()));
        LtBarrier barrier = tier.sync().barrier(request.name(), request.parties(), deadline.duration());
        Duration left = deadline.remaining();
        if (left.isZero()) {
            throw new LiteTimeoutException(deadline.expired("opening barrier \"%s\"".formatted(request.name())));
        }
        return barrier.await(left);
    }

    /** A failure frees the LMR and the handle's number. */
    private Reply publish(Publish request) {
        boolean published = false;
        try {
            tier.publish(handles.get(request.lh()), deadline(request.deadlineNs()));
            published = true;
            return new Done(request.requestId());
        } finally {
            if (!published && handles.find(request.lh()) != null) {
                handles.remove(request.lh());
            }
        }
    }

    private Mapped mapped(long requestId, Supplier<TierHandle> make) {
        long lh = handles.reserve();
        TierHandle handle = null;
        try {
            handle = make.get();
            Mapped reply = describe(requestId, lh, handle);
            handles.put(lh, handle);
            return reply;
        } finally {
            if (handle == null) {
                handles.cancel(lh);
            }
        }
    }

    private static Mapped describe(long requestId, long lh, LmrHandle handle) {
        return new Mapped(requestId, lh, handle.id(), handle.name().orElse(null), handle.size(), handle.permissions());
    }

    private Duration deadline(long deadlineNs) {
        return Duration.ofNanos(
                Math.clamp(deadlineNs, 1, config.requestDeadlineMax().toNanos()));
    }
}
