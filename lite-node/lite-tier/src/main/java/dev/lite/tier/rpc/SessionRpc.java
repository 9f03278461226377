package dev.lite.tier.rpc;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.tier.TierRpc;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;

/** The calls and messages of one session. Its end closes its servers and ports. Any thread. */
public final class SessionRpc implements TierRpc {
    /** Functions and ports have names of their own: no function's name begins like this. */
    private static final String PORT_PREFIX = "\0port:";

    private static final MemorySegment EMPTY = MemorySegment.ofArray(new byte[0]);
    private static final Duration FOR_EVER = Duration.ofDays(36_500);

    private final RpcEngine engine;
    private final String principal;
    private final Set<FunctionServer> servers = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    SessionRpc(RpcEngine engine, String principal) {
        this.engine = engine;
        this.principal = principal;
    }

    @Override
    public RpcServer serve(String function) {
        return serve(checkName(function), false);
    }

    private FunctionServer serve(String function, boolean handled) {
        requireOpen();
        FunctionServer server = engine.serve(function, principal, handled, servers::remove);
        servers.add(server);
        if (closed) {
            server.close();
            throw ended();
        }
        return server;
    }

    @Override
    public RpcServer register(String function, int concurrency, RpcHandler handler) {
        if (concurrency < 1 || concurrency > CONCURRENCY_MAX) {
            throw new IllegalArgumentException("the concurrency of the function \"%s\" is %d; it must be 1 to %d"
                    .formatted(function, concurrency, CONCURRENCY_MAX));
        }
        FunctionServer server = serve(checkName(function), true);
        for (int i = 0; i < concurrency; i++) {
            engine.execute(() -> handle(server, handler));
        }
        return server;
    }

    /** A virtual thread, until the server is closed. */
    private static void handle(FunctionServer server, RpcHandler handler) {
        try {
            while (true) {
                ReceivedCall call = server.next(FOR_EVER);
                try {
                    call.reply(handler.handle(call));
                } catch (RuntimeException | StackOverflowError e) {
                    if (!call.isAnswered()) {
                        call.fail("the handler failed: " + (e instanceof LiteException ? e.getMessage() : e));
                    }
                }
            }
        } catch (SessionLostException e) {
            // closed; that is how it ends
        }
    }

    @Override
    public RpcClient bind(String node, String function) {
        return new FunctionClient(engine, this, node, checkName(function), "function \"" + function + "\"", principal);
    }

    @Override
    public Map<String, RpcOutcome> multicast(
            Collection<String> nodes, String function, byte[] request, Duration deadline) {
        Map<String, CompletableFuture<byte[]>> calls = new LinkedHashMap<>();
        for (String node : nodes) {
            if (!calls.containsKey(node)) {
                calls.put(node, callAsync(node, function, request, deadline));
            }
        }
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
        FunctionClient client = new FunctionClient(
                engine, this, node, PORT_PREFIX + checkName(port), "port \"" + port + "\"", principal);
        requireOpen();
        long none = engine.caller().call(client, message, EMPTY, deadline);
        assert none == 0;
    }

    @Override
    public RpcMessages messages(String port) {
        FunctionServer server = serve(PORT_PREFIX + checkName(port), true);
        MessagePort messages = new MessagePort(port, server);
        engine.execute(messages::fill);
        return messages;
    }

    private static String checkName(String name) {
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes == 0 || bytes > LtRpc.NAME_BYTES_MAX) {
            throw new LimitExceededException(
                    "the name of a function or port has %d bytes of UTF-8; it must have 1 to %d"
                            .formatted(bytes, LtRpc.NAME_BYTES_MAX));
        }
        if (name.charAt(0) == PORT_PREFIX.charAt(0)) {
            throw new IllegalArgumentException("the name of a function or port must not begin with the character 0");
        }
        return name;
    }

    void requireOpen() {
        if (closed) {
            throw ended();
        }
    }

    private SessionLostException ended() {
        return new SessionLostException(
                "the session of \"%s\" with node %s has ended".formatted(principal, engine.selfName()));
    }

    @Override
    public void close() {
        closed = true;
        servers.forEach(FunctionServer::close);
    }
}
