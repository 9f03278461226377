package dev.lite.client.fake;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Priority;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.session.handling.HandlerExecution;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Functions of one node, called on the caller's thread, or on a virtual one. */
public final class FakeRpc implements LtRpc {

    public final Map<String, RpcHandler> handlers = new ConcurrentHashMap<>();
    public final Map<String, Integer> concurrencies = new ConcurrentHashMap<>();

    /** Whether no other node can be reached. */
    public volatile boolean unreachable;

    /** How many of the next registrations fail. */
    public final AtomicInteger refusals = new AtomicInteger();

    /** Runs at the beginning of each registration. */
    public volatile Runnable whenRegistering = () -> {};

    /** Runs at the beginning of each close of a server. */
    public volatile Runnable whenClosing = () -> {};

    /** What the next registrations throw, one each. */
    public final Queue<Error> errors = new ConcurrentLinkedQueue<>();

    /** What the next calls throw, one each. */
    public final Queue<RuntimeException> failures = new ConcurrentLinkedQueue<>();

    /** What handlers threw, other than for their callers. */
    public final Queue<Throwable> handlerFailures = new ConcurrentLinkedQueue<>();

    /** How many of the next servers fail to close. */
    public final AtomicInteger closeRefusals = new AtomicInteger();

    private volatile @Nullable Duration lastDeadline;
    private volatile @Nullable String lastNode;

    /** The node of the last call. */
    public String lastNode() {
        return Objects.requireNonNull(lastNode);
    }

    /** The deadline of the last call. */
    public Duration lastDeadline() {
        return Objects.requireNonNull(lastDeadline);
    }

    @Override
    public RpcServer register(String function, int concurrency, RpcHandler handler) {
        whenRegistering.run();
        if (refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            throw new LiteTimeoutException("the node is busy");
        }
        Error error = errors.poll();
        if (error != null) {
            throw error;
        }
        handlers.put(function, handler);
        concurrencies.put(function, concurrency);
        return new RpcServer() {
            @Override
            public String function() {
                return function;
            }

            @Override
            public RpcCall receive(Duration deadline) {
                throw new IllegalStateException("it has a handler");
            }

            @Override
            public RpcCall replyAndReceive(RpcCall call, MemorySegment reply, Duration deadline) {
                throw new IllegalStateException("it has a handler");
            }

            @Override
            public void close() {
                whenClosing.run();
                if (closeRefusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                    throw new LiteTimeoutException("the node is busy");
                }
                handlers.remove(function);
            }
        };
    }

    @Override
    public RpcClient bind(String node, String function) {
        return new FakeClient(node, function, null);
    }

    /** Its calls set {@link #lastNode} to an empty name. */
    @Override
    public RpcClient bindAny(String function) {
        return new FakeClient("", function, null);
    }

    private final class FakeClient implements RpcClient {
        private final String node;
        private final String function;
        private final @Nullable String context;

        FakeClient(String node, String function, @Nullable String context) {
            this.node = node;
            this.function = function;
            this.context = context;
        }

        @Override
        public String node() {
            return node;
        }

        @Override
        public String function() {
            return function;
        }

        @Override
        public RpcClient withContext(String other) {
            return new FakeClient(node, function, other);
        }

        @Override
        public RpcClient withPriority(Priority priority) {
            return this;
        }

        @Override
        public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
            throw new UnsupportedOperationException("not used here");
        }

        @Override
        public byte[] call(byte[] request, Duration deadline) {
            lastDeadline = deadline;
            lastNode = node;
            if (unreachable) {
                throw new NodeUnreachableException("no connection to " + node);
            }
            RuntimeException thrown = failures.poll();
            if (thrown != null) {
                throw thrown;
            }
            RpcHandler handler = handlers.get(function);
            if (handler == null) {
                throw new RpcFailedException(RpcStatus.NOT_SERVED, "nobody serves " + function);
            }
            FakeCall call = new FakeCall(request, context);
            new HandlerExecution(function, handler, (message, failure) -> log(failure)).execute(call);
            return call.answer();
        }

        private void log(@Nullable Throwable failure) {
            if (failure != null) {
                handlerFailures.add(failure);
            }
        }

        @Override
        public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
            return CompletableFuture.supplyAsync(
                    () -> call(request, deadline), work -> Thread.ofVirtual().start(work));
        }
    }

    @Override
    public RpcServer serve(String function) {
        throw new UnsupportedOperationException("not used here");
    }

    @Override
    public void send(String node, String port, MemorySegment message, Duration deadline) {
        throw new UnsupportedOperationException("not used here");
    }

    @Override
    public RpcMessages messages(String port) {
        throw new UnsupportedOperationException("not used here");
    }

    private static final class FakeCall implements RpcCall {
        private final byte[] request;
        private final @Nullable String context;
        private final CompletableFuture<byte[]> answer = new CompletableFuture<>();

        FakeCall(byte[] request, @Nullable String context) {
            this.request = request;
            this.context = context;
        }

        byte[] answer() {
            try {
                return answer.getNow(request);
            } catch (CompletionException e) {
                throw e.getCause() instanceof LiteException known ? known : e;
            }
        }

        @Override
        public String callerNode() {
            return "fake-2";
        }

        @Override
        public String callerPrincipal() {
            return "shop";
        }

        @Override
        public MemorySegment request() {
            return MemorySegment.ofArray(request).asReadOnly();
        }

        @Override
        public @Nullable String context() {
            return context;
        }

        @Override
        public void reply(MemorySegment reply) {
            answer.complete(reply.toArray(ValueLayout.JAVA_BYTE));
        }

        @Override
        public void fail(int handlerCode, String message) {
            answer.completeExceptionally(new RpcFailedException(RpcStatus.HANDLER_FAILED, handlerCode, message, null));
        }

        @Override
        public void decline(String message) {
            answer.completeExceptionally(new RpcFailedException(RpcStatus.NOT_SERVED, message));
        }
    }
}
