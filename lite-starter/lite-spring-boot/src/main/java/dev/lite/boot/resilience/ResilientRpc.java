package dev.lite.boot.resilience;

import dev.lite.api.LtRpc;
import dev.lite.api.NodeInfo;
import dev.lite.api.Priority;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Asks the rate limiter and the node's circuit breaker before each call and message; guards handlers with bulkheads. Any thread. */
final class ResilientRpc implements LtRpc {

    private final LtRpc rpc;
    private final Resilience resilience;

    ResilientRpc(LtRpc rpc, Resilience resilience) {
        this.rpc = rpc;
        this.resilience = resilience;
    }

    @Override
    public RpcServer serve(String function) {
        return rpc.serve(function);
    }

    @Override
    public RpcServer register(String function, int concurrency, RpcHandler handler) {
        LtRpc.checkName(function); // before it makes a bulkhead
        Objects.requireNonNull(handler, "handler");
        Bulkhead bulkhead = resilience.bulkhead(function);
        return rpc.register(
                function, concurrency, bulkhead == null ? handler : new GuardedHandler(function, handler, bulkhead));
    }

    @Override
    public RpcClient bind(String node, String function) {
        NodeInfo.checkName(node); // before it makes a circuit breaker
        return new Client(rpc.bind(node, function), resilience.circuitBreaker(node));
    }

    /** Without a circuit breaker: the node that is called changes, and one that cannot be reached is passed over anyway. */
    @Override
    public RpcClient bindAny(String function) {
        return new Client(rpc.bindAny(function), null);
    }

    @Override
    public void send(String node, String port, MemorySegment message, Duration deadline) {
        NodeInfo.checkName(node);
        boolean unused = permitted(resilience.circuitBreaker(node), deadline, left -> {
            rpc.send(node, port, message, left);
            return true;
        });
    }

    @Override
    public RpcMessages messages(String port) {
        return rpc.messages(port);
    }

    /** @param call gets what is left of the deadline */
    private <T> T permitted(@Nullable CircuitBreaker circuitBreaker, Duration deadline, Function<Duration, T> call) {
        Duration left = resilience.begin(circuitBreaker, deadline);
        long beginNs = System.nanoTime();
        T result;
        try {
            result = call.apply(left);
        } catch (RuntimeException | Error e) {
            resilience.failed(circuitBreaker, beginNs, e);
            throw e;
        }
        Resilience.succeeded(circuitBreaker, beginNs);
        return result;
    }

    /** A function at a node. */
    private final class Client implements RpcClient {
        private final RpcClient client;
        private final @Nullable CircuitBreaker circuitBreaker;

        Client(RpcClient client, @Nullable CircuitBreaker circuitBreaker) {
            this.client = client;
            this.circuitBreaker = circuitBreaker;
        }

        @Override
        public String node() {
            return client.node();
        }

        @Override
        public String function() {
            return client.function();
        }

        @Override
        public RpcClient withContext(String context) {
            return new Client(client.withContext(context), circuitBreaker);
        }

        @Override
        public RpcClient withPriority(Priority priority) {
            return new Client(client.withPriority(priority), circuitBreaker);
        }

        @Override
        public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
            return permitted(circuitBreaker, deadline, left -> client.call(request, reply, left));
        }

        @Override
        public byte[] call(byte[] request, Duration deadline) {
            return permitted(circuitBreaker, deadline, left -> client.call(request, left));
        }

        @Override
        public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
            Duration left = resilience.begin(circuitBreaker, deadline);
            long beginNs = System.nanoTime();
            CompletableFuture<byte[]> started;
            try {
                started = client.callAsync(request, left);
            } catch (RuntimeException | Error e) {
                resilience.failed(circuitBreaker, beginNs, e);
                throw e;
            }
            return circuitBreaker == null
                    ? started
                    : started.whenComplete((reply, failure) -> {
                        if (failure == null) {
                            Resilience.succeeded(circuitBreaker, beginNs);
                        } else {
                            Throwable cause =
                                    failure instanceof CompletionException wrapped && wrapped.getCause() != null
                                            ? wrapped.getCause()
                                            : failure;
                            resilience.failed(circuitBreaker, beginNs, cause);
                        }
                    });
        }
    }
}
