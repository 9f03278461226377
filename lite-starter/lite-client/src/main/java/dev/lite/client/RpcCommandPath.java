package dev.lite.client;

import dev.lite.api.LiteTimeoutException;
import dev.lite.client.DataPath.Outcome;
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

/**
 * The commands of calls and messages: a slot each, and one command in it. Any thread.
 *
 * <p>The node keeps the deadline; this side waits a little longer for it to say so, so that no call is received by the node
 * for somebody who has just left.
 */
final class RpcCommandPath {
    private static final long GRACE_NS = TimeUnit.SECONDS.toNanos(2);
    /** No command works for a handle of memory that is closed by this number. */
    private static final long NO_HANDLE = -1;

    private static final int ORIGINS_MAX = 4096;

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

    /** A slot, the caller's; {@link #giveBack} follows. */
    int acquire(String what, long timeoutNs) {
        int slot = data.slots().acquire(System.nanoTime() + timeoutNs);
        if (slot < 0) {
            if (!session.isOpen()) {
                throw session.lost();
            }
            throw new LiteTimeoutException(
                    "%s: every slot of the session is taken by an operation under way".formatted(what));
        }
        data.slots().workFor(slot, NO_HANDLE);
        return slot;
    }

    /** Carries a command out; throws what the node says against it. Returns the result. */
    long run(String what, int slot, int op, long id, long length, long operand0, long timeoutNs) {
        data.submit(slot, op, id, 0, length, operand0, timeoutNs);
        Outcome outcome = data.await(slot, System.nanoTime() + timeoutNs + GRACE_NS);
        if (outcome == Outcome.LOST) {
            throw session.lost();
        }
        if (outcome == Outcome.TIMED_OUT) {
            throw new LiteTimeoutException("%s: node %s did not answer within its deadline of %d ms"
                    .formatted(what, session.nodeName(), TimeUnit.NANOSECONDS.toMillis(timeoutNs)));
        }
        data.check(slot);
        return data.result(slot);
    }

    /** Gives a slot back; one whose command is still under way goes into quarantine. */
    void giveBack(int slot) {
        if (data.isIdle(slot)) {
            data.slots().release(slot);
        } else {
            data.slots().quarantine(slot);
        }
    }

    /** Opens something; its number. */
    long open(RpcKind kind, String node, String name) {
        return session.requests()
                .ask(
                        "opening the %s \"%s\"".formatted(kind, name),
                        RpcOpened.class,
                        session.deadlineNs(),
                        id -> new RpcOpen(id, kind, node, name),
                        null)
                .id();
    }

    /** Closes it; nothing when the session is over. */
    void close(long number) {
        if (session.isOpen()) {
            Done unused = session.requests()
                    .ask("closing", Done.class, session.deadlineNs(), id -> new RpcClose(id, number), null);
        }
    }

    /** Who made the call that is in the slot. */
    RpcOriginIs origin(int slot) {
        long number = data.receivedOrigin(slot);
        RpcOriginIs known = origins.get(number);
        if (known == null) {
            known = session.requests()
                    .ask(
                            "asking for a caller's name",
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

    /** Fails when the session is over. */
    void requireOpen() {
        if (!session.isOpen()) {
            throw session.lost();
        }
    }

    Session session() {
        return session;
    }

    static long toNanos(Duration deadline) {
        return Math.min(LiteClient.toNanos(deadline), Long.MAX_VALUE / 4); // room for the grace
    }

    /** The name of an operation for messages. */
    static String what(int op, String name) {
        return "%s of \"%s\"".formatted(Op.nameOf(op), name);
    }
}
