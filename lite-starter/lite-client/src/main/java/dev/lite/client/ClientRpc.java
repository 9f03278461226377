package dev.lite.client;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/** {@link LtRpc} of an attached application: every call is a command in a slot of the session. Any thread. */
final class ClientRpc implements LtRpc {
    private static final MemorySegment NOTHING = MemorySegment.ofArray(new byte[0]);

    /** Each on a virtual thread of its own, which waits for the node in its place. */
    private static final Executor VIRTUAL =
            task -> Thread.ofVirtual().name("lite-client-call").start(task);

    private final RpcCommandPath commands;
    private final Map<Target, Long> targets = new ConcurrentHashMap<>();

    private record Target(RpcKind kind, String node, String name) {}

    ClientRpc(Session session) {
        commands = new RpcCommandPath(session);
    }

    @Override
    public RpcServer serve(String function) {
        return new ClientServer(commands, checkName(function), commands.open(RpcKind.SERVER, "", function), false);
    }

    @Override
    public RpcServer register(String function, int concurrency, RpcHandler handler) {
        if (concurrency < 1 || concurrency > CONCURRENCY_MAX) {
            throw new IllegalArgumentException("the concurrency of the function \"%s\" is %d; it must be 1 to %d"
                    .formatted(function, concurrency, CONCURRENCY_MAX));
        }
        ClientServer server =
                new ClientServer(commands, checkName(function), commands.open(RpcKind.SERVER, "", function), true);
        server.startHandler(handler, concurrency);
        return server;
    }

    @Override
    public RpcClient bind(String node, String function) {
        return new Bound(node, checkName(function));
    }

    @Override
    public Map<String, RpcOutcome> multicast(
            Collection<String> nodes, String function, byte[] request, Duration deadline) {
        Map<String, CompletableFuture<byte[]>> calls = new LinkedHashMap<>();
        nodes.forEach(
                node -> calls.computeIfAbsent(node, each -> bind(each, function).callAsync(request, deadline)));
        Map<String, RpcOutcome> outcomes = new LinkedHashMap<>();
        calls.forEach((node, call) -> outcomes.put(node, outcome(call)));
        return outcomes;
    }

    private static RpcOutcome outcome(CompletableFuture<byte[]> call) {
        try {
            return new RpcOutcome(call.join(), null); // it has a deadline
        } catch (CompletionException e) {
            LiteException failure = e.getCause() instanceof LiteException known
                    ? known
                    : new RpcFailedException("the call failed: " + e.getCause(), e);
            return new RpcOutcome(null, failure);
        }
    }

    @Override
    public void send(String node, String port, MemorySegment message, Duration deadline) {
        long none = call(new Target(RpcKind.SENDER, node, checkName(port)), message, NOTHING, deadline);
        assert none == 0;
    }

    @Override
    public RpcMessages messages(String port) {
        return new ClientMessages(commands, checkName(port), commands.open(RpcKind.PORT, "", port));
    }

    private long id(Target target) {
        Long known = targets.get(target);
        if (known != null) {
            return known;
        }
        // Two threads may open it twice; both numbers are good, and the node has a limit.
        long opened = commands.open(target.kind(), target.node(), target.name());
        targets.put(target, opened);
        return opened;
    }

    private long call(Target target, MemorySegment request, MemorySegment reply, Duration deadline) {
        String what = "call of \"%s\" at node %s".formatted(target.name(), target.node());
        long id = id(target);
        long timeoutNs = RpcCommandPath.toNanos(deadline);
        int slot = commands.acquire(what, timeoutNs);
        try {
            long length = run(what, slot, id, request, Math.min(reply.byteSize(), MESSAGE_BYTES_MAX), timeoutNs);
            RawMemory.copyTo(commands.data().window(slot), reply, 0, length);
            return length;
        } finally {
            commands.giveBack(slot);
        }
    }

    private byte[] call(Target target, MemorySegment request, Duration deadline) {
        String what = "call of \"%s\" at node %s".formatted(target.name(), target.node());
        long id = id(target);
        long timeoutNs = RpcCommandPath.toNanos(deadline);
        int slot = commands.acquire(what, timeoutNs);
        try {
            byte[] reply = new byte[(int) run(what, slot, id, request, MESSAGE_BYTES_MAX, timeoutNs)];
            RawMemory.copyTo(commands.data().window(slot), MemorySegment.ofArray(reply), 0, reply.length);
            return reply;
        } finally {
            commands.giveBack(slot);
        }
    }

    private long run(String what, int slot, long id, MemorySegment request, long capacity, long timeoutNs) {
        int window = commands.data().windowBytes();
        checkLength("the request", request.byteSize(), window);
        RawMemory.copyFrom(request, 0, commands.data().window(slot), request.byteSize());
        long length = commands.run(what, slot, Op.CALL, id, request.byteSize(), Math.min(capacity, window), timeoutNs);
        return Math.clamp(length, 0, Math.min(capacity, window));
    }

    /** Checks the length of a message. */
    static void checkLength(String what, long bytes, int windowBytes) {
        long limit = Math.min(MESSAGE_BYTES_MAX, windowBytes);
        if (bytes > limit) {
            throw new LimitExceededException("%s has %d bytes; the limit is %d".formatted(what, bytes, limit));
        }
    }

    private static String checkName(String name) {
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes == 0 || bytes > NAME_BYTES_MAX) {
            throw new LimitExceededException(
                    "the name of a function or port has %d bytes of UTF-8; it must have 1 to %d"
                            .formatted(bytes, NAME_BYTES_MAX));
        }
        return name;
    }

    /** A function at a node. */
    private final class Bound implements RpcClient {
        private final Target target;

        Bound(String node, String function) {
            target = new Target(RpcKind.CLIENT, node, function);
        }

        @Override
        public String node() {
            return target.node();
        }

        @Override
        public String function() {
            return target.name();
        }

        @Override
        public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
            return ClientRpc.this.call(target, request, reply, deadline);
        }

        @Override
        public byte[] call(byte[] request, Duration deadline) {
            return ClientRpc.this.call(target, MemorySegment.ofArray(request), deadline);
        }

        @Override
        public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
            commands.requireOpen();
            byte[] copy = request.clone();
            return CompletableFuture.supplyAsync(() -> call(copy, deadline), VIRTUAL);
        }
    }
}
