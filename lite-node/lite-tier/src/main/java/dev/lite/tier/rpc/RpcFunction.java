package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.peer.PollWaiter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A function on this node: the queue of its calls, and the threads that wait for them in {@link #receive}. Servers come
 * and go. While there is none, calls are refused.
 *
 * <p>The entries lie in rings and slots, whose capacity bounds the queue.
 */
final class RpcFunction {
    private static final Logger log = LoggerFactory.getLogger(RpcFunction.class);

    final String name;
    private final RpcEngine engine;

    @GuardedBy("this")
    private final RpcQueue queue = new RpcQueue();

    @GuardedBy("this")
    private final ArrayDeque<Receiver> receivers = new ArrayDeque<>();

    @GuardedBy("this")
    private @Nullable String principal; // the servers' principal; null when there is no server

    @GuardedBy("this")
    private final List<FunctionServer> servers = new ArrayList<>();

    /** By principal: the slots for the calls of this node itself. */
    private final Map<String, RpcSlotShare> ownCalls = new ConcurrentHashMap<>();

    int rings; // guarded by the engine's functions map
    private boolean forgotten; // guarded by the engine's functions map

    RpcFunction(String name, RpcEngine engine) {
        this.name = name;
        this.engine = engine;
    }

    /** A thread that waits for a call. */
    private static class Receiver extends PollWaiter {
        // Both are written under the function's lock, the entry first. A thread that sees called may read the entry.

        /** The call for this receiver; null: the receiver must check again. */
        private @Nullable RpcEntry entry;

        private volatile boolean called;

        /** Called under the lock; {@link #deliver} follows, without the lock. */
        void call(@Nullable RpcEntry its) {
            entry = its;
            called = true;
        }

        /** Wakes the receiving thread. */
        void deliver() {
            signal();
        }

        /** The call for this receiver, after {@link #call}. */
        @Nullable
        RpcEntry entry() {
            return entry;
        }

        @Override
        protected boolean isOver() {
            return called;
        }

        @Override
        protected boolean isRequest() {
            return true;
        }
    }

    /** A receiver without a thread: the thread that notifies it of a call also hands the call over. */
    final class PostedReceiver extends Receiver {
        private final FunctionServer server;
        private final PostedReceive receive;

        PostedReceiver(FunctionServer server, PostedReceive receive) {
            this.server = server;
            this.receive = receive;
        }

        @Override
        void deliver() {
            serve(this, entry());
        }

        boolean giveUp() {
            return RpcFunction.this.giveUp(this);
        }

        @Nullable
        ReceivedCall further(long bytesMax) {
            return RpcFunction.this.further(server, bytesMax);
        }
    }

    /**
     * The slots for the calls that a principal makes at this node itself, or null if there are none yet. Any thread.
     */
    @Nullable
    RpcSlotShare ownCalls(String ofPrincipal) {
        return ownCalls.get(ofPrincipal);
    }

    /** {@link #ownCalls}, made if need be; null if the function was forgotten. Called under the engine's functions map. */
    @Nullable
    RpcSlotShare makeOwnCalls(String ofPrincipal, RpcSlots slots) {
        return forgotten
                ? null
                : ownCalls.computeIfAbsent(
                        ofPrincipal,
                        any -> slots.calls(
                                ofPrincipal, "function \"%s\" at node %s".formatted(name, engine.selfName())));
    }

    /** The function is in no map any more. Called under the engine's functions map. */
    void forget() {
        forgotten = true;
        ownCalls.values().forEach(RpcSlotShare::close);
    }

    /** The servers' principal, or null if there is no server. */
    synchronized @Nullable String principal() {
        return principal;
    }

    /** Adds a server. The caller has checked its permission. Returns the others. Called under the engine's functions map. */
    synchronized List<FunctionServer> addServer(FunctionServer server, String ofPrincipal) {
        List<FunctionServer> others = List.copyOf(servers);
        principal = ofPrincipal;
        servers.add(server);
        return others;
    }

    synchronized int servers() {
        return servers.size();
    }

    /** The only server; null if there is none or more than one. */
    synchronized @Nullable FunctionServer onlyServer() {
        return servers.size() == 1 ? servers.getFirst() : null;
    }

    /** A server was removed; {@link #finish} must follow. */
    final class Removal {
        /** The servers' principal if it was the last one, or null. */
        final @Nullable String ofLast;

        private final List<Receiver> notified;
        private final List<RpcEntry> refused;

        private Removal(@Nullable String ofLast, List<Receiver> notified, List<RpcEntry> refused) {
            this.ofLast = ofLast;
            this.notified = notified;
            this.refused = refused;
        }

        /** Notifies the receivers and refuses the queued calls. The caller holds no lock. */
        void finish() {
            notified.forEach(receiver -> RpcFunction.this.finish(receiver::deliver));
            refuse(refused);
        }
    }

    private void refuse(List<RpcEntry> calls) {
        calls.forEach(entry -> finish(() -> engine.arrivals().refuse(entry)));
    }

    /** One that fails must not keep the others waiting: nobody else notifies them. */
    private void finish(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) { // for example no memory
            Unrecoverable.report(e);
            log.warn("a call or a receive of the {} was not ended with its server", RpcNames.describe(name), e);
        }
    }

    /** Removes a closed server. If it was the last one, the queued calls fail. Called under the engine's functions map. */
    synchronized Removal removeServer(FunctionServer server) {
        String ofLast = null;
        servers.remove(server);
        if (servers.isEmpty()) {
            ofLast = principal;
            principal = null;
        }
        List<RpcEntry> refused = unserved();
        for (Receiver receiver : receivers) {
            receiver.call(null); // each receiver checks whether its own server closed
        }
        List<Receiver> notified = List.copyOf(receivers);
        receivers.clear();
        return new Removal(ofLast, notified, refused);
    }

    /** Empties the queue if there is no server. */
    private synchronized List<RpcEntry> unserved() {
        List<RpcEntry> calls = new ArrayList<>();
        RpcEntry entry;
        while (servers.isEmpty() && (entry = queue.poll()) != null) {
            calls.add(entry);
        }
        return calls;
    }

    /**
     * Takes an arrived call, if there is a server. Runs on the thread that holds the poll role, or on a caller's thread of this
     * node.
     *
     * @return false: there is no server, and the call is still the caller's of this method. If this method throws, the function has
     *     taken the call
     */
    boolean arrived(RpcEntry entry) {
        Receiver called;
        synchronized (this) {
            if (servers.isEmpty()) {
                return false;
            }
            called = receivers.poll(); // if a receiver waits, the queue is empty
            if (called == null) {
                queue.add(entry);
            } else {
                called.call(entry);
            }
        }
        if (called != null) {
            called.deliver();
        }
        return true;
    }

    /**
     * Takes a call out of the queue whose caller has stopped waiting.
     *
     * @param isIt checks an entry while it is queued
     * @return the entry; null if it is not queued
     */
    synchronized @Nullable RpcEntry unqueue(Predicate<RpcEntry> isIt) {
        return queue.remove(isIt);
    }

    /**
     * Queues a call again that a thread could not take, before all others. The next receive takes it, or one
     * that waits now. Without a server another thread refuses it.
     *
     * @param mayRefuse false if the thread tried to refuse it: then it waits for a server, or until its
     *     caller cancels it
     */
    void putBack(RpcEntry entry, boolean mayRefuse) {
        Receiver other;
        boolean served;
        synchronized (this) {
            queue.putBack(entry);
            served = !servers.isEmpty();
            other = receivers.poll();
            if (other != null) {
                other.call(null); // it looks into the queue
            }
        }
        if (other != null) {
            other.deliver();
        }
        if (!served && mayRefuse) {
            engine.execute(() -> refuse(unserved()));
        }
    }

    /**
     * Waits for a call.
     *
     * @param role the poll role that the thread may take while it waits, or null
     * @param held whether the thread already holds the role; this method always releases it
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
                        role.releaseBriefly(); // this thread may wait for the fabric to fetch a long request
                    }
                } else {
                    boolean hand = has;
                    has = false;
                    entry = awaitCall(receiver, deadlineNs, role, hand);
                }
                ReceivedCall call = entry == null ? null : engine.arrivals().take(this, entry);
                if (call != null) {
                    return call;
                }
            }
        } finally {
            if (has && role != null) {
                role.releaseBriefly();
            }
        }
    }

    /** Receives the next call without a thread that waits. Never blocks. */
    void receive(FunctionServer server, PostedReceive receive) {
        PostedReceiver receiver = new PostedReceiver(server, receive);
        receive.begin(receiver);
        serve(receiver, null);
    }

    /**
     * Hands a call over to a receiver that is in no queue, or queues it. Never blocks: another thread fetches a long
     * request.
     *
     * @param first the call that the receiver was notified of, or null
     */
    private void serve(PostedReceiver receiver, @Nullable RpcEntry first) {
        RpcEntry entry = first;
        try {
            while (true) {
                ReceivedCall call = entry == null ? null : engine.arrivals().takeNow(this, entry);
                if (call != null && call.remoteRequest != 0) {
                    receiver.receive.later(() -> serveFetched(receiver, call));
                    return;
                }
                if (call != null && receiver.receive.received(call)) {
                    return;
                }
                entry = pollOrEnter(receiver.server, receiver);
                if (entry == null) {
                    break;
                }
            }
        } catch (RuntimeException | Error e) { // also a defect: the receiver is in no queue, so nobody else ends it
            failed(receiver, e);
            return;
        }
        receiver.receive.waits();
    }

    /**
     * Takes the next queued call of high priority for a server that has just received one. Never blocks.
     *
     * @return null if none is queued, if the next one's message is longer or still at its caller, or if there is another server:
     *     then that one may take the call sooner
     */
    @Nullable
    ReceivedCall further(FunctionServer server, long bytesMax) {
        while (true) {
            RpcEntry entry;
            synchronized (this) {
                entry = servers.size() == 1 && servers.getFirst() == server
                        ? queue.pollHigh(next -> next.isHere(bytesMax))
                        : null;
            }
            if (entry == null) {
                return null;
            }
            ReceivedCall call = engine.arrivals().takeNow(this, entry);
            if (call != null && call.isHere(bytesMax)) {
                return call;
            }
            if (call != null) { // its caller's node has changed the entry since it announced it
                boolean unused = call.tryFail(RpcStatus.REFUSED, 0, "the request changed after it was sent");
            }
        }
    }

    private void serveFetched(PostedReceiver receiver, ReceivedCall call) {
        boolean received;
        try {
            ReceivedCall fetched = engine.arrivals().fetched(call);
            received = fetched != null && receiver.receive.received(fetched);
        } catch (RuntimeException | Error e) { // likewise
            failed(receiver, e);
            return;
        }
        if (!received) {
            serve(receiver, null);
        }
    }

    private static void failed(PostedReceiver receiver, Throwable why) {
        Unrecoverable.report(why);
        receiver.receive.failed(PostedCalls.exception("the call could not be received", why));
    }

    /** The number of calls that wait for a server. */
    synchronized int queued() {
        return queue.size();
    }

    /** Whether a call is queued; another receiver may take it. */
    synchronized boolean hasQueued() {
        return !queue.isEmpty();
    }

    /** The next call; or null, and the receiver is queued. */
    private synchronized @Nullable RpcEntry pollOrEnter(FunctionServer server, Receiver receiver) {
        server.requireOpen();
        RpcEntry entry = queue.poll();
        if (entry == null) {
            receiver.entry = null;
            receiver.called = false;
            receivers.add(receiver);
        }
        return entry;
    }

    /** Waits for a call; null means that the receiver must check again. */
    private @Nullable RpcEntry awaitCall(Receiver receiver, long deadlineNs, @Nullable PollRole role, boolean held) {
        boolean over = role != null
                ? role.await(receiver, deadlineNs, held)
                : receiver.awaitAlone(deadlineNs, engine.waitAlone());
        if (!over && giveUp(receiver)) {
            if (Thread.currentThread().isInterrupted()) {
                throw new SessionLostException(
                        "interrupted while waiting for a call of the function \"%s\"".formatted(name));
            }
            throw new LiteTimeoutException("no call of the function \"%s\" came before the deadline".formatted(name));
        }
        return receiver.entry;
    }

    /** Removes the receiver from the queue; false if it was called meanwhile and must take its call. */
    private synchronized boolean giveUp(Receiver receiver) {
        return receivers.remove(receiver);
    }
}
