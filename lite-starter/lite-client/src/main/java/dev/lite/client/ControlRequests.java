package dev.lite.client;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.SessionLostException;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.Acquired;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Reply;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionProtocol;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests on the control channel and their replies, matched by number. Any thread may send requests; the channel's reader calls {@link
 * #reply} and {@link #lose}.
 *
 * <p>The node limits the requests under way; further ones wait for a permit, within their deadline. A request that timed out keeps its
 * permit until the node has answered. If the late answer is a handle, a lock or a function, it is undone: unmapped, freed, released or closed.
 */
final class ControlRequests {
    private static final Logger LOG = LoggerFactory.getLogger(ControlRequests.class);

    /** The node has room for these, for the undone waits, and for the other requests that it answers like releases. */
    private static final int RELEASES_MAX = SessionProtocol.WAITS_MAX / 2;

    private final SessionChannel channel;
    private final String node;
    private final int requestsMax;
    private final Semaphore permits;
    /** For requests that wait for a lock or at a barrier: they must not block the others. */
    private final Semaphore waitPermits = new Semaphore(SessionProtocol.WAITS_MAX);

    /**
     * For releases: no other request may keep a lock held that its holder has released, or that nobody holds. For answers about channels,
     * too.
     */
    private final Semaphore releasePermits = new Semaphore(RELEASES_MAX);

    private final AtomicLong lastId = new AtomicLong();
    private final Map<Long, Pending> pending = new ConcurrentHashMap<>();
    /** Releases that a busy node did not take. As many as permits, at most. */
    private final Queue<Unsent> unsent = new ConcurrentLinkedQueue<>();

    /** Whether a thread sends them. */
    private final AtomicBoolean sendingLater = new AtomicBoolean();

    private volatile @Nullable String lostReason;

    /** A request that releases something. */
    private record Unsent(Request request, Semaphore heldPermit) {}

    /**
     * A request under way.
     *
     * @param undo creates the request that undoes a late answer, or null
     * @param permits where its permit is returned
     */
    private record Pending(
            CompletableFuture<Reply> answer, @Nullable Undo undo, Semaphore permits) {}

    /** Undoes a late answer that no thread waits for any more. */
    interface Undo {
        /**
         * The request that releases this handle or function, or the lock with this fencing token.
         *
         * @param number 0 for a {@link Done}
         */
        Request request(long requestId, long number);
    }

    ControlRequests(SessionChannel channel, String node, int requestsMax) {
        this.channel = channel;
        this.node = node;
        this.requestsMax = requestsMax;
        permits = new Semaphore(requestsMax);
    }

    /**
     * Sends a request and waits for its reply. An interrupt does not end the wait; it is kept for the caller.
     *
     * @param what describes the request in messages: {@code map of LMR "x"}
     * @param type the type of the reply
     * @param timeoutNs nanoseconds; a node that does not answer is given a fifth more, at most half a second
     * @param make creates the request with its number
     * @param undo undoes a reply of type {@link Mapped}, {@link Acquired}, {@link RpcOpened} or {@link Done} that
     *     arrives too late; or null
     * @throws LiteException the node's error, or that it did not answer in time
     */
    <R extends Reply> R ask(
            String what, Class<R> type, long timeoutNs, LongFunction<Request> make, @Nullable Undo undo) {
        return ask(permits, requestsMax, what, type, timeoutNs, make, undo);
    }

    /** {@link #ask} for a request that the node answers only after another session acted. */
    <R extends Reply> R askAndWait(
            String what, Class<R> type, long timeoutNs, LongFunction<Request> make, @Nullable Undo undo) {
        return ask(waitPermits, SessionProtocol.WAITS_MAX, what, type, timeoutNs, make, undo);
    }

    /**
     * {@link #ask} for the release of a lock, or an answer about a channel: others wait for it. If the node does not read its control
     * channel now, the request is sent when it does.
     */
    void askToRelease(String what, long timeoutNs, LongFunction<Request> make) {
        Done unused = ask(releasePermits, RELEASES_MAX, what, Done.class, timeoutNs, make, null);
    }

    private <R extends Reply> R ask(
            Semaphore permits,
            int limit,
            String what,
            Class<R> type,
            long timeoutNs,
            LongFunction<Request> make,
            @Nullable Undo undo) {
        long deadlineNs = System.nanoTime() + timeoutNs;
        if (!Deadline.awaitPermits(permits, 1, deadlineNs)) {
            throw timeout(
                    what, timeoutNs, "the session had reached its limit of requests under way, which is " + limit);
        }
        long id = lastId.incrementAndGet();
        CompletableFuture<Reply> answer = new CompletableFuture<>();
        pending.put(id, new Pending(answer, undo, permits));
        boolean sent;
        try {
            String reason = lostReason;
            if (reason != null) {
                throw new SessionLostException(reason);
            }
            sent = sendOrKeep(make.apply(id), permits);
        } catch (RuntimeException | Error notSent) { // an Error: for example no memory for the request
            if (pending.remove(id) != null) {
                permits.release();
            }
            if (notSent instanceof OsException failed) {
                throw sendFailed(what, timeoutNs, failed);
            }
            throw notSent;
        }
        if (!sent) {
            sendLater();
        }
        Reply reply = await(answer, deadlineNs + Session.marginNs(timeoutNs));
        if (reply == null) {
            throw timeout(what, timeoutNs, "the node did not answer");
        }
        if (reply instanceof Failed failed) {
            throw failed.code() == LiteException.Code.RPC_FAILED.number()
                    ? new RpcFailedException(failed.status(), failed.message())
                    : LiteException.Code.exception(failed.code(), failed.message());
        }
        if (!type.isInstance(reply)) {
            throw new SessionLostException("%s: node %s answered with %s instead of %s"
                    .formatted(what, node, reply.getClass().getSimpleName(), type.getSimpleName()));
        }
        return type.cast(reply);
    }

    /** Returns false if a busy node did not take a release: it is sent later. */
    private boolean sendOrKeep(Request request, Semaphore heldPermit) {
        try {
            channel.send(request);
            return true;
        } catch (OsException busy) {
            if (heldPermit != releasePermits || busy.errno() != Errno.EAGAIN) {
                throw busy;
            }
            unsent.add(new Unsent(request, heldPermit));
            return false;
        }
    }

    private LiteException sendFailed(String what, long timeoutNs, OsException failed) {
        if (failed.errno() == Errno.EAGAIN) {
            return timeout(what, timeoutNs, "the node does not read its control channel");
        }
        String reason = lostReason;
        return new SessionLostException(
                reason != null ? reason : "%s: the session with node %s ended".formatted(what, node), failed);
    }

    private LiteTimeoutException timeout(String what, long timeoutNs, String why) {
        return new LiteTimeoutException(
                "%s: the deadline of %s passed: %s (node %s)".formatted(what, Durations.text(timeoutNs), why, node));
    }

    /** Waits for the reply; null when the deadline passed, and then a later reply is undone. */
    private @Nullable Reply await(CompletableFuture<Reply> answer, long deadlineNs) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return answer.get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException kept) {
                    interrupted = true;
                } catch (TimeoutException late) {
                    // Either this or the reader's completion succeeds.
                    if (answer.cancel(false)) {
                        return null;
                    }
                } catch (ExecutionException lost) {
                    throw new SessionLostException(
                            lost.getCause() == null
                                    ? "the session ended"
                                    : String.valueOf(lost.getCause().getMessage()));
                } catch (CancellationException timedOut) {
                    return null;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Handles a reply. The reader's thread.
     *
     * @throws ProtocolException when it belongs to no request
     */
    void reply(Reply reply) throws ProtocolException {
        Pending asked = pending.remove(reply.requestId());
        if (asked == null && lostReason != null) {
            return;
        }
        if (asked == null) {
            throw new ProtocolException("a reply to request %d, which is not under way".formatted(reply.requestId()));
        }
        if (asked.answer().complete(reply)) {
            asked.permits().release();
            return;
        }
        // Too late: the request that undoes it inherits the permit.
        Undo undo = asked.undo();
        if (undo != null && reply instanceof Mapped mapped) {
            undo(undo, mapped.lh(), asked.permits());
        } else if (undo != null && reply instanceof Acquired acquired) {
            undo(undo, acquired.token(), asked.permits());
        } else if (undo != null && reply instanceof RpcOpened opened) {
            undo(undo, opened.id(), asked.permits());
        } else if (undo != null && reply instanceof Done) {
            undo(undo, 0, asked.permits());
        } else {
            asked.permits().release();
        }
    }

    private void undo(Undo undo, long number, Semaphore heldPermit) {
        send(heldPermit, id -> undo.request(id, number));
    }

    /**
     * Sends a request that releases a lock, without waiting for its reply. Does nothing after the end of the session, and while {@value
     * #RELEASES_MAX} releases are under way, many times more than there are slots for attempts.
     */
    void postRelease(LongFunction<Request> make) {
        if (releasePermits.tryAcquire()) {
            send(releasePermits, make);
        }
    }

    /** Sends a request without waiting for its reply; returns false if the session has reached its limit of requests under way. */
    boolean tryPost(LongFunction<Request> make) {
        if (!permits.tryAcquire()) {
            return false;
        }
        send(permits, make);
        return true;
    }

    private void send(Semaphore heldPermit, LongFunction<Request> make) {
        long id = lastId.incrementAndGet();
        pending.put(id, new Pending(new CompletableFuture<>(), null, heldPermit));
        boolean sentOrKept = false;
        boolean sent;
        try {
            Unsent request = new Unsent(make.apply(id), heldPermit);
            sent = trySend(request);
            if (!sent) {
                unsent.add(request);
            }
            sentOrKept = true;
        } finally {
            if (!sentOrKept && pending.remove(id) != null) { // for example no memory for the request
                heldPermit.release();
            }
        }
        if (!sent) {
            sendLater();
        }
    }

    /** The node must still learn of a release, or it holds the lock until the end of the session. */
    private void sendLater() {
        if (!unsent.isEmpty() && sendingLater.compareAndSet(false, true)) {
            boolean started = false;
            try {
                Thread unused = Thread.ofPlatform()
                        .daemon()
                        .name("lite-client-release-" + node)
                        .start(this::sendUnsent);
                started = true;
            } finally {
                if (!started) {
                    sendingLater.set(false); // no memory for a thread; the next release tries again
                }
            }
        }
    }

    private void sendUnsent() {
        try {
            for (Unsent next = unsent.poll(); next != null; next = unsent.poll()) {
                while (!trySend(next)) {
                    LOG.debug("node {} still does not read its control channel", node);
                }
            }
        } finally {
            sendingLater.set(false);
        }
        sendLater(); // one may have come after the last look
    }

    /** Returns false if the node does not read its control channel now: it got nothing. Takes up to the send timeout. */
    private boolean trySend(Unsent release) {
        try {
            channel.send(release.request());
            return true;
        } catch (OsException notSent) {
            if (notSent.errno() == Errno.EAGAIN && lostReason == null) {
                return false;
            }
            // The session has ended, which releases everything.
            if (pending.remove(release.request().requestId()) != null) {
                release.heldPermit().release();
            }
            return true;
        }
    }

    /** Ends every current and later request with {@link SessionLostException}. */
    void lose(String reason) {
        lostReason = reason;
        for (Long id : List.copyOf(pending.keySet())) {
            // The thread that removes the request returns its permit.
            Pending asked = pending.remove(id);
            if (asked != null) {
                asked.answer().completeExceptionally(new IllegalStateException(reason));
                asked.permits().release();
            }
        }
    }

    /** The exception for a message that a node must not send at this point. */
    static ProtocolException unexpected(SessionMessage message) {
        return new ProtocolException(
                "an unexpected %s".formatted(message.getClass().getSimpleName()));
    }
}
