package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.SessionLostException;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.peer.PollWaiter;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * A function at this node: the queue of its calls, and the threads that wait for them in {@link #receive}. Servers come and
 * go; while there is none, calls are refused.
 *
 * <p>The queue is bounded by the rings and slots that its entries lie in.
 */
final class RpcFunction {
    final String name;
    private final RpcEngine engine;

    @GuardedBy("this")
    private @Nullable RpcEntry first;

    @GuardedBy("this")
    private @Nullable RpcEntry last;

    @GuardedBy("this")
    private final ArrayDeque<Receiver> receivers = new ArrayDeque<>();

    @GuardedBy("this")
    private @Nullable String principal; // of its servers; null when there is none

    @GuardedBy("this")
    private int servers;

    int rings; // guarded by the engine's lock of functions

    RpcFunction(String name, RpcEngine engine) {
        this.name = name;
        this.engine = engine;
    }

    /** A thread that waits for a call. */
    private static final class Receiver extends PollWaiter {
        // Both are written under the function's lock; the entry first, so that who sees that it was called may read it.

        /** The call that it was called for; null: it is only to check again. */
        private @Nullable RpcEntry entry;

        private volatile boolean called;

        /** Under the lock; {@link #signal} follows. */
        void call(@Nullable RpcEntry its) {
            entry = its;
            called = true;
        }

        @Override
        protected boolean isOver() {
            return called;
        }
    }

    /** The principal of its servers, or null. */
    synchronized @Nullable String principal() {
        return principal;
    }

    /** Adds a server; the caller checked that it may. */
    synchronized void addServer(String ofPrincipal) {
        principal = ofPrincipal;
        servers++;
    }

    synchronized int servers() {
        return servers;
    }

    /** A server closed. With the last one, calls that nobody received fail. */
    void removeServer() {
        RpcEntry refused = null;
        synchronized (this) {
            servers--;
            if (servers == 0) {
                principal = null;
                refused = first;
                first = null;
                last = null;
            }
            for (Receiver receiver : receivers) {
                receiver.call(null); // each sees whether it is its server that closed
                receiver.signal();
            }
            receivers.clear();
        }
        while (refused != null) {
            RpcEntry next = refused.next;
            engine.refuse(refused, "the function \"%s\" is not served at node %s any more");
            refused = next;
        }
    }

    /** A call arrived. The thread that has the poll role, or a caller of this node. */
    void arrived(RpcEntry entry) {
        Receiver called;
        synchronized (this) {
            if (servers == 0) {
                engine.execute(() -> engine.refuse(entry, "nobody serves the function \"%s\" at node %s"));
                return;
            }
            called = receivers.poll(); // when there is one, the queue is empty
            if (called == null) {
                append(entry);
            } else {
                called.call(entry);
            }
        }
        if (called != null) {
            called.signal();
        }
    }

    @GuardedBy("this")
    private void append(RpcEntry entry) {
        entry.next = null;
        RpcEntry before = last;
        if (before == null) {
            first = entry;
        } else {
            before.next = entry;
        }
        last = entry;
    }

    @GuardedBy("this")
    private @Nullable RpcEntry poll() {
        RpcEntry entry = first;
        if (entry != null) {
            first = entry.next;
            entry.next = null;
            if (first == null) {
                last = null;
            }
        }
        return entry;
    }

    /**
     * Waits for a call.
     *
     * @param role that the thread may take while it waits, or null
     * @param held whether it has it already; it has it no more afterwards
     */
    ReceivedCall receive(FunctionServer server, long deadlineNs, @Nullable PollRole role, boolean held) {
        boolean has = held;
        try {
            Receiver receiver = new Receiver();
            while (true) {
                RpcEntry entry = pollOrEnter(server, receiver);
                if (entry != null) {
                    if (has && role != null) {
                        has = false;
                        role.release(); // to fetch a long request, this thread may have to wait for the fabric
                    }
                } else {
                    boolean hand = has;
                    has = false;
                    entry = awaitCall(receiver, deadlineNs, role, hand);
                }
                ReceivedCall call = entry == null ? null : engine.take(entry, this);
                if (call != null) {
                    return call;
                }
            }
        } finally {
            if (has && role != null) {
                role.release();
            }
        }
    }

    /** The next call; or null, and the receiver is among those that wait. */
    private synchronized @Nullable RpcEntry pollOrEnter(FunctionServer server, Receiver receiver) {
        server.requireOpen();
        RpcEntry entry = poll();
        if (entry == null) {
            receiver.entry = null;
            receiver.called = false;
            receivers.add(receiver);
        }
        return entry;
    }

    /** The call that the receiver was called for; or null: it is to check again. */
    private @Nullable RpcEntry awaitCall(Receiver receiver, long deadlineNs, @Nullable PollRole role, boolean held) {
        boolean over =
                role != null ? role.await(receiver, deadlineNs, held) : receiver.awaitAlone(deadlineNs, engine.spins());
        if (!over && giveUp(receiver)) {
            if (Thread.currentThread().isInterrupted()) {
                throw new SessionLostException(
                        "interrupted while waiting for a call of the function \"%s\"".formatted(name));
            }
            throw new LiteTimeoutException("no call of the function \"%s\" came in time".formatted(name));
        }
        return receiver.entry;
    }

    /** Whether nobody called it meanwhile; a receiver that was called takes its call. */
    private synchronized boolean giveUp(Receiver receiver) {
        return receivers.remove(receiver);
    }
}
