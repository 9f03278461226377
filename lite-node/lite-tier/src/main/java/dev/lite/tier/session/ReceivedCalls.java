package dev.lite.tier.session;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcStatus;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.FurtherCalls;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.tier.FairShares;
import dev.lite.tier.rpc.ReceivedCall;
import dev.lite.tier.rpc.UnsentReplies;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls that an attached application has received and not answered, and the numbers of their callers. Any thread.
 *
 * <p>A session may have {@value #PART} such calls. For each further {@value #PART}, up to {@value #CALLS_MAX} in all, it takes a place
 * of its principal, which it keeps until it ends.
 */
final class ReceivedCalls {
    /** The limit of calls that a session has received and not answered. */
    static final int CALLS_MAX = 8192;

    /** How many calls one place stands for. */
    static final int PART = 256;

    /** The limit of different callers whose names a session may query. */
    private static final int ORIGINS_MAX = 1 << 16;

    private static final String CANCELLED = "the application that received the call ended before it answered";
    private static final String OVERLOADED =
            "the application that serves the function has too many calls that it has not answered";
    private static final String NO_MEMORY =
            "the node of the application that serves the function had no memory for the call";
    private static final Logger LOG = LoggerFactory.getLogger(ReceivedCalls.class);

    private final String session;
    private final AtomicLong lastNumber;
    private final Consumer<Runnable> later;
    private final FairShares.Share places;
    /** Written under this. */
    private volatile int callsMax = PART;

    /** Written under this. */
    private volatile boolean ended;

    private final Map<Long, RpcCall> calls = new ConcurrentHashMap<>();
    private final Map<Caller, Long> originNumbers = new ConcurrentHashMap<>();
    private final Map<Long, Caller> origins = new ConcurrentHashMap<>();

    private record Caller(String node, String principal) {}

    /**
     * @param lastNumber the last number that was given to the application
     * @param places the places of its principal
     * @param later runs tasks that may block long, also after the end of the session
     */
    ReceivedCalls(String session, AtomicLong lastNumber, FairShares.Share places, Consumer<Runnable> later) {
        this.places = places;
        this.session = session;
        this.lastNumber = lastNumber;
        this.later = later;
    }

    /**
     * Puts a call into the slot of the command that received it. Never blocks. If that is not possible, the call fails.
     *
     * @return the length of the call's message in bytes
     */
    long put(RpcCall call, RpcCommands.Slots slots, int slot) {
        long number = add(call);
        boolean kept = false;
        try {
            long origin = originOf(call.callerNode(), call.callerPrincipal());
            MemorySegment message;
            if (call instanceof ReceivedCall its) {
                message = MemorySegment.ofArray(its.message());
                slots.received(slot, number, origin, its.contextBytes(), its.replyBytesMax());
            } else {
                message = call.request();
                slots.received(slot, number, origin, 0, 0);
            }
            copy(message, slots, slot);
            kept = true;
            if (call instanceof ReceivedCall its) {
                its.dropMessage();
            }
            return message.byteSize();
        } finally {
            if (!kept || ended) {
                failSoon(number);
            }
        }
    }

    /** Puts a message of a port into the slot; likewise. */
    long put(RpcMessages.Message message, RpcCommands.Slots slots, int slot) {
        slots.received(slot, 0, originOf(message.senderNode(), message.senderPrincipal()), 0, 0);
        copy(MemorySegment.ofArray(message.data()), slots, slot);
        return message.data().length;
    }

    private static void copy(MemorySegment message, RpcCommands.Slots slots, int slot) {
        if (message.byteSize() > slots.windowBytes()) {
            throw new LimitExceededException("the request has %d bytes; the session's windows have %d"
                    .formatted(message.byteSize(), slots.windowBytes()));
        }
        RawMemory.copyFrom(message, 0, slots.window(slot), message.byteSize());
    }

    /**
     * Puts a further call into a window. Never blocks.
     *
     * @param address has room for the call
     * @return false: the call has failed
     */
    boolean putFurther(ReceivedCall call, long address) {
        long number = -1;
        boolean kept = false;
        try {
            number = add(call);
            byte[] message = call.message();
            long origin = originOf(call.callerNode(), call.callerPrincipal());
            FurtherCalls.put(address, number, origin, message.length, call.contextBytes(), call.replyBytesMax());
            RawMemory.copyFrom(MemorySegment.ofArray(message), 0, FurtherCalls.message(address), message.length);
            call.dropMessage();
            kept = true;
        } catch (LimitExceededException tooMany) {
            LOG.debug("{}: a call is refused", session, tooMany);
        } finally {
            if (number >= 0 && (!kept || ended)) {
                failSoon(number);
            }
        }
        return kept;
    }

    /** Adds a call; returns its number. Never blocks. If there are too many, or no memory for it, the call fails. */
    long add(RpcCall call) {
        int waiting = calls.size();
        if (waiting >= callsMax && !takePart(waiting)) {
            failSoon(call, RpcStatus.OVERLOADED, OVERLOADED);
            throw new LimitExceededException(
                    "the session has %d calls received and not answered; the limit is %d, or less for a principal with many such sessions"
                            .formatted(waiting, CALLS_MAX));
        }
        long number = lastNumber.incrementAndGet();
        boolean added = false;
        try {
            calls.put(number, call);
            added = true;
        } finally {
            if (!added) {
                failSoon(call, RpcStatus.OVERLOADED, NO_MEMORY);
            }
        }
        return number;
    }

    private synchronized boolean takePart(int waiting) {
        if (waiting < callsMax) {
            return true; // another thread was faster
        }
        if (ended || callsMax >= CALLS_MAX || !places.take()) {
            return false;
        }
        callsMax += PART;
        return true;
    }

    /**
     * From now on every call fails, also those that are not answered yet, and the places are given back. Never blocks. A second call
     * only fails calls.
     */
    void end() {
        int parts;
        synchronized (this) {
            ended = true;
            parts = callsMax / PART - 1;
            callsMax = PART;
        }
        for (int part = 0; part < parts; part++) {
            places.giveBack();
        }
        failAll();
    }

    /** The caller with this number. */
    RpcOriginIs origin(long requestId, long number) {
        Caller caller = origins.get(number);
        if (caller == null) {
            throw new RpcFailedException(RpcStatus.REFUSED, "there is no caller with number %d".formatted(number));
        }
        return new RpcOriginIs(requestId, caller.node(), caller.principal());
    }

    /** The number of a caller, for {@link #origin}. */
    private long originOf(String node, String principal) {
        Caller caller = new Caller(node, principal);
        Long known = originNumbers.get(caller);
        if (known != null) {
            return known;
        }
        if (origins.size() >= ORIGINS_MAX) {
            throw new LimitExceededException(
                    "the session has received calls of %d callers; that is the limit".formatted(ORIGINS_MAX));
        }
        return originNumbers.computeIfAbsent(caller, fresh -> {
            long number = lastNumber.incrementAndGet();
            origins.put(number, fresh);
            return number;
        });
    }

    /** Answers a call unless that has to wait; then the call is still unanswered. */
    boolean tryAnswer(long number, Predicate<ReceivedCall> answer) {
        RpcCall call = take(number);
        boolean answered = false;
        try {
            answered = call instanceof ReceivedCall received && answer.test(received);
            return answered;
        } finally {
            if (!answered) {
                calls.put(number, call);
            }
        }
    }

    /** Answers a call. May block. */
    void reply(long number, MemorySegment reply) {
        answer(number, call -> call.reply(reply));
    }

    /** Fails a call. May block. */
    void fail(long number, RpcStatus status, int handlerCode, String message) {
        answer(number, call -> fail(call, status, handlerCode, message));
    }

    /**
     * Fails a call whose answer could not be sent, as soon as that is possible: until its caller has stopped waiting, or the session
     * has ended. Never blocks.
     */
    void failUnsent(long number, String why) {
        later.accept(() -> {
            UnsentReplies.fail(() -> fail(number, RpcStatus.UNKNOWN, 0, why), () -> ended);
            failSoon(number); // if the session ends
        });
    }

    private void answer(long number, Consumer<RpcCall> answer) {
        RpcCall call = take(number);
        boolean answered = false;
        try {
            answer.accept(call);
            answered = true;
        } finally {
            if (!answered) {
                calls.put(number, call); // it is too long, or was not sent in time: the call is still unanswered
            }
        }
    }

    /** Removes a call, to answer it. */
    private RpcCall take(long number) {
        RpcCall call = calls.remove(number);
        if (call == null) {
            throw new IllegalStateException("there is no unanswered call with number %d".formatted(number));
        }
        return call;
    }

    /** Fails a call that is not answered yet, without blocking. */
    void failSoon(long number) {
        RpcCall call = calls.remove(number);
        if (call != null) {
            failSoon(call, RpcStatus.CANCELLED, CANCELLED);
        }
    }

    /** Fails a call without blocking. */
    void failSoon(RpcCall call, RpcStatus status, String message) {
        if (!failedNow(call, status, message)) {
            failLater(call, status, message);
        }
    }

    /** Fails a call if that need not wait; false: the call is still unanswered. */
    private static boolean failedNow(RpcCall call, RpcStatus status, String message) {
        try {
            return call instanceof ReceivedCall received && received.tryFail(status, 0, message);
        } catch (IllegalStateException answered) {
            return true;
        } catch (LiteException e) { // for example, the arena has no room for a reply slot
            LOG.debug("a call cannot be failed yet", e);
            return false;
        }
    }

    /** Fails a call. May block. */
    static void fail(RpcCall call, RpcStatus status, int handlerCode, String message) {
        if (call instanceof ReceivedCall received) {
            received.fail(status, handlerCode, message);
        } else {
            call.fail(handlerCode, message);
        }
    }

    private void failLater(RpcCall call, RpcStatus status, String message) {
        later.accept(() -> UnsentReplies.fail(() -> fail(call, status, 0, message), () -> false));
    }

    /** Fails all calls that are not answered yet. Waits for none of their callers' nodes, of which one may be paused. */
    private void failAll() {
        calls.keySet().forEach(this::failSoon);
    }
}
