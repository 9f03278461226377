package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
import dev.lite.api.Priority;
import dev.lite.api.RpcClient;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.tier.Admission;
import dev.lite.tier.peer.Peer;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A session's client for one function on a node. Caches its binding. Any thread. */
final class FunctionClient implements PostedCall.Client {
    private static final long NS_MAX = Long.MAX_VALUE / 2;
    private static final Duration LONGEST = Duration.ofNanos(NS_MAX);

    private final RpcEngine engine;
    private final SessionRpc session;
    private final String node;
    private final String function;
    private final String principal;
    private final boolean low;
    private volatile int nodeId = -1;
    private volatile @Nullable RpcBinding binding;

    /** @param low whether its calls have low priority, whatever the session's */
    FunctionClient(RpcEngine engine, SessionRpc session, String node, String function, String principal, boolean low) {
        this.low = low;
        this.engine = engine;
        this.session = session;
        this.node = node;
        this.function = function;
        this.principal = principal;
    }

    @Override
    public String node() {
        return node;
    }

    @Override
    public String function() {
        return function;
    }

    String principal() {
        return principal;
    }

    /** Whether its calls have low priority. */
    boolean isLow() {
        return session.isLow(low);
    }

    @Override
    public FunctionClient withPriority(Priority priority) {
        boolean isLow = Objects.requireNonNull(priority, "priority") == Priority.LOW;
        return isLow == low ? this : new FunctionClient(engine, session, node, function, principal, isLow);
    }

    /** The node's id; a name keeps its id. */
    int nodeId() {
        int known = nodeId;
        if (known < 0) {
            known = engine.id(node);
            nodeId = known;
        }
        return known;
    }

    /** {@link #nodeId} if it is known; else -1. */
    int knownNodeId() {
        return nodeId;
    }

    /** The cached binding, if it belongs to this connection; else null. */
    @Nullable
    RpcBinding knownBinding(Peer peer) {
        RpcBinding known = binding;
        if (known == null || known.peer != peer) {
            return null;
        }
        RpcBinding larger = known.larger();
        if (larger != null) {
            binding = larger;
            return larger;
        }
        return known;
    }

    /** Learns from a reply how long the next one may be. */
    void replied(RpcSlot slot, int bytes) {
        Peer peer = slot.peer;
        RpcBinding known = peer == null ? null : knownBinding(peer);
        if (known != null) {
            known.replied(bytes);
        }
    }

    RpcBinding binding(RpcBindings bindings, Peer peer, long deadlineNs) {
        RpcBinding found = bindings.get(peer, function, principal, deadlineNs);
        binding = found;
        return found;
    }

    /** Whether the connection of the binding is up. */
    boolean isCurrent(RpcBinding known) {
        return engine.isConnected(known.peer);
    }

    @Override
    public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
        Segments.requireReadable("request", request);
        return call(request, 0, reply, deadline);
    }

    @Override
    public boolean tryCall(MemorySegment request, int replyCapacity, long timeoutNs, PostedCall call) {
        return tryCall(request, 0, replyCapacity, timeoutNs, call);
    }

    /** @param contextBytes how many of the request's first bytes are its context */
    boolean tryCall(MemorySegment request, int contextBytes, int replyCapacity, long timeoutNs, PostedCall call) {
        session.requireOpen();
        Admission admission = session.admission(low);
        if (admission != null) {
            if (admission.isLimited(false)) {
                return false; // it may have to wait
            }
            call.measure(admission, request.byteSize());
        }
        return engine.postedCalls().tryPost(this, request, contextBytes, replyCapacity, timeoutNs, call);
    }

    /** A call that may have to ask first. */
    private <T> T admitted(long bytes, Duration deadline, Function<Duration, T> call) {
        Admission admission = session.admission(low);
        if (admission == null) {
            return call.apply(deadline);
        }
        Duration left = deadline;
        if (admission.isLimited(false)) {
            Deadline until = Deadline.in(deadline);
            admission.take(false, bytes, until);
            left = until.remaining();
        }
        long begun = admission.begin(false);
        try {
            return call.apply(left);
        } finally {
            admission.end(false, bytes, begun);
        }
    }

    @Override
    public byte[] call(byte[] request, Duration deadline) {
        return call(request, 0, deadline);
    }

    /** @param contextBytes how many of the request's first bytes are its context */
    byte[] call(byte[] request, int contextBytes, Duration deadline) {
        Objects.requireNonNull(request, "request");
        Durations.requirePositive(deadline);
        session.requireOpen();
        MemorySegment segment = MemorySegment.ofArray(request);
        return session.admission(low) == null
                ? engine.caller().call(this, segment, contextBytes, deadline)
                : admitted(request.length, deadline, left -> engine.caller().call(this, segment, contextBytes, left));
    }

    /** @param contextBytes how many of the request's first bytes are its context */
    long call(MemorySegment request, int contextBytes, MemorySegment reply, Duration deadline) {
        Segments.requireWritable("reply", reply);
        Durations.requirePositive(deadline);
        session.requireOpen();
        return session.admission(low) == null
                ? engine.caller().call(this, request, contextBytes, reply, deadline)
                : admitted(
                        request.byteSize(),
                        deadline,
                        left -> engine.caller().call(this, request, contextBytes, reply, left));
    }

    @Override
    public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
        return callAsync(request, 0, deadline);
    }

    /** @param contextBytes how many of the request's first bytes are its context */
    CompletableFuture<byte[]> callAsync(byte[] request, int contextBytes, Duration deadline) {
        Objects.requireNonNull(request, "request");
        Durations.requirePositive(deadline);
        session.requireOpen();
        if (session.admission(low) != null) {
            return engine.asyncCalls()
                    .onThread(this, request, deadline, (copy, left) -> call(copy, contextBytes, left));
        }
        return engine.asyncCalls().call(this, request, contextBytes, deadline);
    }

    @Override
    public RpcClient withContext(String context) {
        return new ContextClient(this, LtRpc.checkContext(context));
    }

    /** Nanoseconds, capped so that they can be added to {@link System#nanoTime}; 0 of a deadline that has passed meanwhile. */
    static long toNanos(Duration deadline) {
        Durations.requireNotNegative(deadline);
        return deadline.compareTo(LONGEST) < 0 ? deadline.toNanos() : NS_MAX;
    }

    /** The function and the node, for messages. */
    String[] words() {
        return new String[] {RpcNames.describe(function), "at node " + node};
    }

    @Override
    public String toString() {
        return String.join(" ", words());
    }
}
