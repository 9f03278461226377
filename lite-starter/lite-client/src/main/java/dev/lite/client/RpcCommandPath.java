package dev.lite.client;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.SessionLostException;
import dev.lite.client.DataPath.Outcome;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Polling;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionMessage.RpcOrigin;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The commands of calls and messages, each in a slot of its own. Any thread.
 *
 * <p>The node enforces the deadline. This side waits a little longer for the node to report it, so that the node does not receive a
 * call for a thread that has just stopped waiting.
 */
final class RpcCommandPath {
    private static final long GRACE_NS = TimeUnit.SECONDS.toNanos(2);
    /** Stands for no handle: no handle has this number. */
    private static final long NO_HANDLE = -1;

    private static final int ORIGINS_MAX = 4096;
    /** The pause before a close is tried again. */
    private static final long AGAIN_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final Logger LOG = LoggerFactory.getLogger(RpcCommandPath.class);

    private final Session session;
    private final DataPath data;
    private final Map<Long, RpcOriginIs> origins = new ConcurrentHashMap<>();

    RpcCommandPath(Session session) {
        this.session = session;
        this.data = session.data();
    }

    DataPath data() {
        return data;
    }

    /** Acquires a slot; {@link DataPath#returnSlot} must follow. */
    int acquire(SlotPool.Use use, String what, long timeoutNs) {
        int slot = data.slots().acquire(use, System.nanoTime() + timeoutNs);
        if (slot < 0) {
            if (!session.isOpen()) {
                throw session.lost();
            }
            throw new LiteTimeoutException(
                    "%s: all slots of the session were in use until the deadline (lite.node.session.slots)"
                            .formatted(what));
        }
        data.slots().workFor(slot, NO_HANDLE);
        return slot;
    }

    /** Executes a command and returns its result; throws the node's error. */
    long run(String what, int slot, int op, long id, long length, long operand0, long operand1, long timeoutNs) {
        return run(what, slot, op, id, 0, length, operand0, operand1, timeoutNs);
    }

    /** {@link #run(String, int, int, long, long, long, long, long)} with an offset. */
    long run(
            String what,
            int slot,
            int op,
            long id,
            long offset,
            long length,
            long operand0,
            long operand1,
            long timeoutNs) {
        data.submit(slot, op, id, offset, length, operand0, operand1, timeoutNs);
        return result(what, slot, data.await(slot, System.nanoTime() + timeoutNs + GRACE_NS), timeoutNs);
    }

    /**
     * Submits an answer whose end nobody waits for; the slot must then be returned. If the node cannot send it, the node fails the
     * call. A session that this application closes waits for it.
     */
    void submitUnwatched(int slot, int op, long id, long offset, long length, long operand0, long timeoutNs) {
        data.slots().unwatched(slot);
        data.submit(slot, op, id, offset, length, operand0, Op.UNWATCHED, timeoutNs);
    }

    /** Acquires a slot without waiting; {@link DataPath#returnSlot} must follow. Returns -1 if none is free. */
    int tryAcquire(SlotPool.Use use) {
        int slot = data.slots().tryAcquire(use);
        if (slot >= 0) {
            data.slots().workFor(slot, NO_HANDLE);
        }
        return slot;
    }

    /**
     * Submits a command that no thread waits for. Does not block.
     *
     * @param ending owns the slot; {@link #result} tells how the command ended
     */
    void start(
            int slot,
            int op,
            long id,
            long length,
            long operand0,
            long operand1,
            long timeoutNs,
            WatchedCommands.Ending ending) {
        long deadlineNs = System.nanoTime() + timeoutNs + GRACE_NS;
        data.submitWatched(slot, op, id, 0, length, operand0, operand1, timeoutNs, deadlineNs, ending);
    }

    /** The result of a command that has ended; throws the node's error. */
    long result(String what, int slot, Outcome outcome, long timeoutNs) {
        if (outcome == Outcome.LOST) {
            throw session.lost();
        }
        if (outcome == Outcome.TIMED_OUT) {
            throw new LiteTimeoutException("%s: node %s did not answer within its deadline of %s"
                    .formatted(what, session.nodeName(), Durations.text(timeoutNs)));
        }
        data.check(slot);
        return data.result(slot);
    }

    /** Opens a function or port; returns its number. */
    long open(RpcKind kind, String node, String name) {
        return open(kind, node, name, session.deadlineNs());
    }

    /** {@link #open(RpcKind, String, String)} within a time. */
    long open(RpcKind kind, String node, String name, long timeoutNs) {
        return session.requests()
                .ask(
                        "opening the %s \"%s\"".formatted(kind, name),
                        RpcOpened.class,
                        Math.min(timeoutNs, session.deadlineNs()),
                        id -> new RpcOpen(id, kind, node, name),
                        RpcClose::new) // a server without a thread that receives would let its callers wait
                .id();
    }

    /**
     * Closes it; does nothing when the session has ended. If the node does not answer in time, a thread of its own tries again until it
     * does: calls and messages would wait there for nobody.
     */
    void close(long number) {
        boolean late = true;
        try {
            close(number, session.deadlineNs());
            late = false;
        } finally {
            if (late && session.isOpen()) {
                Thread unused = Thread.ofVirtual().name("lite-client-close").start(() -> closeLate(number));
            }
        }
    }

    private void closeLate(long number) {
        while (session.isOpen()) {
            try {
                close(number, session.deadlineNs());
                return;
            } catch (LiteException e) {
                LOG.debug("node {} has not closed {} yet", session.nodeName(), number, e);
                Polling.sleepNs(AGAIN_NS);
            }
        }
    }

    /** {@link #close(long)} within a time. */
    void close(long number, long timeoutNs) {
        if (session.isOpen()) {
            Done unused =
                    session.requests().ask("closing", Done.class, timeoutNs, id -> new RpcClose(id, number), null);
        }
    }

    /** The caller with this number if the node has told it before; otherwise null. */
    @Nullable
    RpcOriginIs knownOrigin(long number) {
        return origins.get(number);
    }

    /** Asks the node for the caller with this number, and waits up to the session's deadline; see {@link OriginQuery}. */
    RpcOriginIs origin(long number) {
        RpcOriginIs known = origins.get(number);
        if (known == null) {
            known = session.requests()
                    .ask(
                            "query of a caller's name",
                            RpcOriginIs.class,
                            session.deadlineNs(),
                            id -> new RpcOrigin(id, number),
                            null);
            if (origins.size() < ORIGINS_MAX) {
                origins.put(number, known);
            }
        }
        return known;
    }

    /** Throws when the session has ended. */
    void requireOpen() {
        if (!session.isOpen()) {
            throw session.lost();
        }
    }

    /** The exception for a server that was closed. */
    static SessionLostException closed(String function) {
        return new SessionLostException("the server of the function \"%s\" was closed".formatted(function));
    }

    Session session() {
        return session;
    }

    static long toNanos(Duration deadline) {
        return Math.min(LiteClient.toNanos(deadline), Long.MAX_VALUE / 4); // leaves room for the grace time
    }

    /** What is left of a time that began then; at least 1. */
    static long leftNs(long timeoutNs, long beganNs) {
        return Math.max(1, timeoutNs - (System.nanoTime() - beganNs));
    }

    /** The name of an operation for messages. */
    static String what(int op, String name) {
        return "%s of \"%s\"".formatted(Op.nameOf(op), name);
    }
}
