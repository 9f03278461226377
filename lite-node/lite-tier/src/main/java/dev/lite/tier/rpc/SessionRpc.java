package dev.lite.tier.rpc;

import dev.lite.api.LiteException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.tier.TierRpc;
import dev.lite.tier.peer.PollRole;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The calls and messages of one session. Its end closes its servers and ports. Any thread. */
public final class SessionRpc implements TierRpc {
    /** Separates the names of ports from those of functions: no function's name begins like this. */
    private static final String PORT_PREFIX = "\0port:";

    private static final Logger log = LoggerFactory.getLogger(SessionRpc.class);

    private static final MemorySegment EMPTY = MemorySegment.ofArray(new byte[0]);
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
        return serve(LtRpc.checkName(function), false);
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
        LtRpc.checkConcurrency(function, concurrency);
        FunctionServer server = serve(LtRpc.checkName(function), true);
        for (int i = 0; i < concurrency; i++) {
            engine.execute(() -> handle(server, handler));
        }
        return server;
    }

    /** Handles calls until the server is closed, whatever one of them throws. Runs on a virtual thread. */
    private static void handle(FunctionServer server, RpcHandler handler) {
        server.forEachCall(call -> {
            try {
                call.reply(uninterrupted(handler, call));
            } catch (Throwable e) { // also an Error: answer, so that the caller does not wait until its deadline
                if (!(e instanceof Exception)) {
                    log.error("the handler of the function {} failed", server.function(), e);
                }
                if (!call.isAnswered()) {
                    call.fail("the handler failed: " + (e instanceof LiteException ? e.getMessage() : e));
                }
            }
        });
    }

    /** Runs the handler. An interrupt that it leaves behind must not lose its reply. */
    private static MemorySegment uninterrupted(RpcHandler handler, ReceivedCall call) {
        try {
            return handler.handle(call);
        } finally {
            boolean unused = Thread.interrupted();
        }
    }

    @Override
    public RpcClient bind(String node, String function) {
        return new FunctionClient(
                engine, this, node, LtRpc.checkName(function), "function \"" + function + "\"", principal);
    }

    @Override
    public void send(String node, String port, MemorySegment message, Duration deadline) {
        FunctionClient client = new FunctionClient(
                engine, this, node, PORT_PREFIX + LtRpc.checkName(port), "port \"" + port + "\"", principal);
        requireOpen();
        long none = engine.caller().call(client, message, EMPTY, deadline);
        assert none == 0;
    }

    @Override
    public RpcMessages messages(String port) {
        FunctionServer server = serve(PORT_PREFIX + LtRpc.checkName(port), true);
        MessagePort messages = new MessagePort(port, server);
        engine.execute(messages::fill);
        return messages;
    }

    @Override
    public List<String> served(boolean ports) {
        return servers.stream()
                .map(FunctionServer::function)
                .filter(name -> name.startsWith(PORT_PREFIX) == ports)
                .map(name -> ports ? name.substring(PORT_PREFIX.length()) : name)
                .toList();
    }

    /** The poll role that a thread may take that waits for calls or replies; null if there is no fabric. */
    public @Nullable PollRole pollRole() {
        return engine.receiveRole();
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
