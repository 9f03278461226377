package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
import dev.lite.api.NodeInfo;
import dev.lite.api.Priority;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Durations;
import dev.lite.session.handling.HandlerExecution;
import dev.lite.tier.Admission;
import dev.lite.tier.NameRules;
import dev.lite.tier.NameRules.Use;
import dev.lite.tier.TierRpc;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.qos.SessionQos;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The calls and messages of one session. Its end closes its servers and ports. Any thread. */
public final class SessionRpc implements TierRpc {
    private static final Logger log = LoggerFactory.getLogger(SessionRpc.class);

    private static final int ANY_MAX = 1024;

    private static final MemorySegment EMPTY = MemorySegment.ofArray(new byte[0]);
    private final RpcEngine engine;
    private final String principal;
    private final SessionQos qos;
    private final NameRules names;
    private final Set<FunctionServer> servers = ConcurrentHashMap.newKeySet();
    private final Set<MessagePort> ports = ConcurrentHashMap.newKeySet();
    /** By function. */
    private final Map<String, AnyNodes> anyNodes = new ConcurrentHashMap<>();

    private volatile boolean closed;

    SessionRpc(RpcEngine engine, String principal, SessionQos qos, NameRules names) {
        this.names = names;
        this.engine = engine;
        this.qos = qos;
        this.principal = principal;
    }

    @Override
    public RpcServer serve(String function) {
        return serve(checked(Use.SERVE, function), false);
    }

    /** The name, if the principal may use it so. */
    private String checked(Use use, String name) {
        names.require(principal, use, LtRpc.checkName(name));
        return name;
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
        Objects.requireNonNull(handler, "handler");
        FunctionServer server = serve(checked(Use.SERVE, function), true);
        HandlerExecution execution = new HandlerExecution(function, handler, log::warn);
        for (int i = 0; i < concurrency; i++) {
            engine.execute(() -> server.forEachCall(execution::execute));
        }
        return server;
    }

    @Override
    public RpcClient bind(String node, String function) {
        NodeInfo.checkName(node);
        return new FunctionClient(engine, this, node, checked(Use.CALL, function), principal, false);
    }

    @Override
    public RpcClient bindAny(String function) {
        AnyNodes known = anyNodes.get(checked(Use.CALL, function));
        if (known == null) {
            known = new AnyNodes(engine, this, function, principal);
            if (anyNodes.size() < ANY_MAX) { // beyond that, clients of one function choose without each other
                AnyNodes first = anyNodes.putIfAbsent(function, known);
                known = first == null ? known : first;
            }
        }
        return new AnyClient(known, null, Priority.HIGH);
    }

    @Override
    public void send(String node, String port, MemorySegment message, Duration deadline) {
        NodeInfo.checkName(node);
        Segments.requireReadable("message", message);
        Durations.requirePositive(deadline);
        FunctionClient client =
                new FunctionClient(engine, this, node, RpcNames.ofPort(checked(Use.CALL, port)), principal, false);
        long none = client.call(message, 0, EMPTY, deadline);
        assert none == 0;
    }

    @Override
    public RpcMessages messages(String port) {
        FunctionServer server = serve(RpcNames.ofPort(checked(Use.SERVE, port)), true);
        MessagePort messages = new MessagePort(port, principal, server, engine.portMemory(), ports::remove);
        ports.add(messages);
        if (closed) { // close() sees the port, or this sees closed
            messages.close();
            throw ended();
        }
        engine.execute(messages::fill);
        return messages;
    }

    @Override
    public List<String> served(boolean ports) {
        return servers.stream()
                .map(FunctionServer::function)
                .filter(name -> RpcNames.isPort(name) == ports)
                .map(RpcNames::ofUser)
                .toList();
    }

    /** The poll role that a thread may take that waits for calls or replies; null if there is no fabric. */
    public @Nullable PollRole pollRole() {
        return engine.receiveRole();
    }

    /** Whether a call has low priority: it asks for it, or its session has no other. */
    boolean isLow(boolean low) {
        return low || qos.priority() == Priority.LOW;
    }

    /** What a call must ask before it begins; null: nothing. */
    @Nullable
    Admission admission(boolean low) {
        return qos.admission(low);
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
        ports.forEach(MessagePort::close); // the thread that fills a full one does not see the end of its server
        servers.forEach(FunctionServer::close);
    }
}
