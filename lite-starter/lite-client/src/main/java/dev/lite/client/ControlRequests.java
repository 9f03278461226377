package dev.lite.client;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.SessionLostException;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.Acquired;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Reply;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionProtocol;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Requests on the control channel and their replies, matched by number. Any thread asks; the channel's reader calls
 * {@link #reply} and {@link #lose}.
 *
 * <p>No more requests are under way than the node allows: who asks waits for its turn within its deadline. A request that
 * nobody waits for any more keeps its place until the node has answered; if the late answer is a handle, it is given back.
 */
final class ControlRequests {
    private final SessionChannel channel;
    private final String node;
    private final Semaphore places;
    /** Of requests that wait for a lock or at a barrier: they must not keep the others from being made. */
    private final Semaphore waits = new Semaphore(SessionProtocol.WAITS_MAX);

    private final AtomicLong lastId = new AtomicLong();
    private final Map<Long, Pending> pending = new ConcurrentHashMap<>();
    private volatile @Nullable String lostReason;

    /**
     * A request under way.
     *
     * @param giveBack makes the request that undoes it when its answer comes too late
     * @param place where its place is given back
     */
    private record Pending(
            CompletableFuture<Reply> answer, @Nullable GiveBack giveBack, Semaphore place) {}

    /** Makes the request that gives a handle or a hold back which nobody waits for any more. */
    interface GiveBack {
        /** The request for this handle, or for the hold of this token. */
        Request request(long requestId, long number);
    }

    ControlRequests(SessionChannel channel, String node, int requestsMax) {
        this.channel = channel;
        this.node = node;
        places = new Semaphore(requestsMax);
    }

    /**
     * Sends a request and waits for its reply. An interrupt does not end the wait; it is kept for the caller.
     *
     * @param what for messages: {@code map of LMR "x"}
     * @param type of the reply
     * @param make makes the request from its number
     * @param giveBack how to undo a reply of type {@link Mapped} that comes too late
     * @throws LiteException what the node answered, or that it did not
     */
    <R extends Reply> R ask(
            String what, Class<R> type, long timeoutNs, LongFunction<Request> make, @Nullable GiveBack giveBack) {
        return ask(places, what, type, timeoutNs, make, giveBack);
    }

    /** {@link #ask} of a request that is answered when something happens elsewhere. */
    <R extends Reply> R askAndWait(
            String what, Class<R> type, long timeoutNs, LongFunction<Request> make, @Nullable GiveBack giveBack) {
        return ask(waits, what, type, timeoutNs, make, giveBack);
    }

    private <R extends Reply> R ask(
            Semaphore place,
            String what,
            Class<R> type,
            long timeoutNs,
            LongFunction<Request> make,
            @Nullable GiveBack giveBack) {
        long deadlineNs = System.nanoTime() + timeoutNs;
        if (!acquirePlace(place, deadlineNs)) {
            throw timeout(what, timeoutNs, "so many requests of this session are under way already");
        }
        long id = lastId.incrementAndGet();
        CompletableFuture<Reply> answer = new CompletableFuture<>();
        pending.put(id, new Pending(answer, giveBack, place));
        try {
            String reason = lostReason;
            if (reason != null) {
                throw new SessionLostException(reason);
            }
            channel.send(make.apply(id));
        } catch (RuntimeException notSent) {
            if (pending.remove(id) != null) {
                place.release();
            }
            if (notSent instanceof OsException failed) {
                throw sendFailed(what, timeoutNs, failed);
            }
            throw notSent;
        }
        Reply reply = await(answer, deadlineNs);
        if (reply == null) {
            throw timeout(what, timeoutNs, "the node did not answer");
        }
        if (reply instanceof Failed failed) {
            throw LiteException.Code.exception(failed.code(), failed.message());
        }
        if (!type.isInstance(reply)) {
            throw new SessionLostException("%s: node %s answered with %s instead of %s"
                    .formatted(what, node, reply.getClass().getSimpleName(), type.getSimpleName()));
        }
        return type.cast(reply);
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
        return new LiteTimeoutException("%s: the deadline of %d ms passed: %s (node %s)"
                .formatted(what, TimeUnit.NANOSECONDS.toMillis(timeoutNs), why, node));
    }

    private static boolean acquirePlace(Semaphore place, long deadlineNs) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return place.tryAcquire(deadlineNs - System.nanoTime(), TimeUnit.NANOSECONDS);
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

    /** The reply, or null when the deadline passed; from then on nobody waits for it. */
    private @Nullable Reply await(CompletableFuture<Reply> answer, long deadlineNs) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return answer.get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException kept) {
                    interrupted = true;
                } catch (TimeoutException late) {
                    // Exactly one of this and the reader's completion succeeds.
                    if (answer.cancel(false)) {
                        return null;
                    }
                } catch (ExecutionException lost) {
                    throw new SessionLostException(
                            lost.getCause() == null
                                    ? "the session ended"
                                    : String.valueOf(lost.getCause().getMessage()));
                } catch (CancellationException givenUp) {
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
     * A reply came. The reader's thread.
     *
     * @throws ProtocolException when nobody asked for it
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
            asked.place().release();
            return;
        }
        // Too late: its place goes over to the request that gives the handle or the hold back.
        GiveBack how = asked.giveBack();
        if (how != null && reply instanceof Mapped mapped) {
            giveBack(how, mapped.lh(), asked.place());
        } else if (how != null && reply instanceof Acquired acquired) {
            giveBack(how, acquired.token(), asked.place());
        } else {
            asked.place().release();
        }
    }

    private void giveBack(GiveBack how, long number, Semaphore place) {
        send(place, id -> how.request(id, number));
    }

    /** Sends a request whose reply nobody waits for; in vain when as many are under way as may, or the session has ended. */
    void tell(LongFunction<Request> make) {
        if (places.tryAcquire()) {
            send(places, make);
        }
    }

    private void send(Semaphore place, LongFunction<Request> make) {
        long id = lastId.incrementAndGet();
        pending.put(id, new Pending(new CompletableFuture<>(), null, place));
        try {
            channel.send(make.apply(id));
        } catch (OsException gone) {
            // The end of the session gives everything back.
            if (pending.remove(id) != null) {
                place.release();
            }
        }
    }

    /** Ends every request, now and later, with {@link SessionLostException}. */
    void lose(String reason) {
        lostReason = reason;
        for (Long id : List.copyOf(pending.keySet())) {
            // Whoever removes the request gives its place back.
            Pending asked = pending.remove(id);
            if (asked != null) {
                asked.answer().completeExceptionally(new IllegalStateException(reason));
                asked.place().release();
            }
        }
    }

    /** What a peer may not send to a client. */
    static ProtocolException unexpected(SessionMessage message) {
        return new ProtocolException(
                "an unexpected %s".formatted(message.getClass().getSimpleName()));
    }
}
