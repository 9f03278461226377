package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
import dev.lite.api.RpcClient;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Durations;
import dev.lite.tier.peer.Peer;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
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
    private volatile int nodeId = -1;
    private volatile @Nullable RpcBinding binding;

    FunctionClient(RpcEngine engine, SessionRpc session, String node, String function, String principal) {
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
        return known != null && known.peer == peer ? known : null;
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
        return engine.caller().tryPost(this, request, contextBytes, replyCapacity, timeoutNs, call);
    }

    @Override
    public byte[] call(byte[] request, Duration deadline) {
        return call(request, 0, deadline);
    }

    /** @param contextBytes how many of the request's first bytes are its context */
    byte[] call(byte[] request, int contextBytes, Duration deadline) {
        Objects.requireNonNull(request, "request");
        session.requireOpen();
        return engine.caller().call(this, MemorySegment.ofArray(request), contextBytes, deadline);
    }

    /** @param contextBytes how many of the request's first bytes are its context */
    long call(MemorySegment request, int contextBytes, MemorySegment reply, Duration deadline) {
        Segments.requireWritable("reply", reply);
        session.requireOpen();
        return engine.caller().call(this, request, contextBytes, reply, deadline);
    }

    @Override
    public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
        return callAsync(request, 0, deadline);
    }

    /** @param contextBytes how many of the request's first bytes are its context */
    CompletableFuture<byte[]> callAsync(byte[] request, int contextBytes, Duration deadline) {
        Objects.requireNonNull(request, "request");
        session.requireOpen();
        return engine.asyncCalls().call(this, request, contextBytes, deadline);
    }

    @Override
    public RpcClient withContext(String context) {
        return new ContextClient(this, LtRpc.checkContext(context));
    }

    /** Nanoseconds, capped so that they can be added to {@link System#nanoTime}. */
    static long toNanos(Duration deadline) {
        Durations.requireNotNegative(deadline);
        return deadline.compareTo(LONGEST) < 0 ? deadline.toNanos() : NS_MAX;
    }

    @Override
    public String toString() {
        return "%s at node %s".formatted(RpcNames.describe(function), node);
    }
}
