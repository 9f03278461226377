package dev.lite.client.reattach;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.Lite;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeInfo;
import dev.lite.api.Priority;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Deadline;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls and messages of the current session. A call that met the end of the session is not repeated, because it may have been
 * executed. A server from {@code serve} and a port from {@code messages} end with the session that opened them; a handler from
 * {@code register} does not. Any thread.
 */
final class ReattachingRpc implements LtRpc {
    private static final Logger LOG = LoggerFactory.getLogger(ReattachingRpc.class);

    private static final long RETRY_NS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long RETRY_NS_MAX = TimeUnit.SECONDS.toNanos(5);

    private final SessionKeeper keeper;

    ReattachingRpc(SessionKeeper keeper) {
        this.keeper = keeper;
    }

    @Override
    public RpcServer serve(String function) {
        LtRpc.checkName(function); // also while the node is away
        return keeper.open().rpc().serve(function);
    }

    @Override
    public RpcServer register(String function, int concurrency, RpcHandler handler) {
        LtRpc.checkName(function);
        LtRpc.checkConcurrency(function, concurrency);
        Objects.requireNonNull(handler, "handler");
        ReattachingServer server = new ReattachingServer(function, concurrency, handler);
        if (keeper.last() != null) {
            server.register();
        } else {
            server.registerLater();
        }
        return server;
    }

    @Override
    public RpcClient bind(String node, String function) {
        NodeInfo.checkName(node);
        LtRpc.checkName(function);
        PerSession<RpcClient> client =
                new PerSession<>(keeper, session -> session.rpc().bind(node, function));
        return new ReattachingClient(node, function, client, null, Priority.HIGH);
    }

    @Override
    public RpcClient bindAny(String function) {
        LtRpc.checkName(function);
        PerSession<RpcClient> client =
                new PerSession<>(keeper, session -> session.rpc().bindAny(function));
        return new ReattachingClient("", function, client, null, Priority.HIGH);
    }

    @Override
    public Map<String, RpcOutcome> multicast(
            Collection<String> nodes, String function, byte[] request, Duration deadline) {
        for (String node : Objects.requireNonNull(nodes, "nodes")) {
            NodeInfo.checkName(Objects.requireNonNull(node, "nodes"));
        }
        LtRpc.checkName(function);
        Objects.requireNonNull(request, "request");
        Deadline until = Deadline.ofCall(deadline);
        return keeper.open(until).rpc().multicast(nodes, function, request, SessionKeeper.remaining(until));
    }

    @Override
    public void send(String node, String port, MemorySegment message, Duration deadline) {
        NodeInfo.checkName(node);
        LtRpc.checkName(port);
        Objects.requireNonNull(message, "message");
        Deadline until = Deadline.ofCall(deadline);
        keeper.open(until).rpc().send(node, port, message, SessionKeeper.remaining(until));
    }

    @Override
    public RpcMessages messages(String port) {
        LtRpc.checkName(port);
        return keeper.open().rpc().messages(port);
    }

    private static final class ReattachingClient implements RpcClient {
        private final String node;
        private final String function;
        private final PerSession<RpcClient> client;
        private final @Nullable String context;
        private final Priority priority;

        /** @param context of its requests, or null */
        ReattachingClient(
                String node,
                String function,
                PerSession<RpcClient> client,
                @Nullable String context,
                Priority priority) {
            this.priority = priority;
            this.node = node;
            this.function = function;
            this.client = client;
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
            LtRpc.checkContext(other);
            return new ReattachingClient(node, function, client, other, priority);
        }

        @Override
        public RpcClient withPriority(Priority other) {
            return new ReattachingClient(node, function, client, context, Objects.requireNonNull(other, "priority"));
        }

        private RpcClient in(RpcClient session) {
            RpcClient its = priority == Priority.LOW ? session.withPriority(priority) : session;
            return context == null ? its : its.withContext(context);
        }

        @Override
        public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
            RpcClient open = client.ifOpen();
            if (open != null) {
                return in(open).call(request, reply, deadline); // allocates nothing, unlike a Deadline
            }
            Segments.requireReadable("request", request); // also while the node is away
            Segments.requireWritable("reply", reply);
            Deadline until = Deadline.ofCall(deadline);
            return in(client.get(until)).call(request, reply, SessionKeeper.remaining(until));
        }

        @Override
        public byte[] call(byte[] request, Duration deadline) {
            Objects.requireNonNull(request, "request");
            Deadline until = Deadline.ofCall(deadline);
            return in(client.get(until)).call(request, SessionKeeper.remaining(until));
        }

        @Override
        public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
            Objects.requireNonNull(request, "request");
            Deadline until = Deadline.ofCall(deadline);
            return in(client.get(until)).callAsync(request, SessionKeeper.remaining(until));
        }
    }

    /** A handler that every new session registers again. */
    private final class ReattachingServer implements RpcServer {
        private final String function;
        private final int concurrency;
        private final RpcHandler handler;
        private final Consumer<Lite> attachListener = this::registerAgain;
        /** Of the application's thread; any thread may register again. */
        private final @Nullable ClassLoader loader = Thread.currentThread().getContextClassLoader();

        @GuardedBy("this")
        private @Nullable RpcServer server;

        /** The session of the server. */
        @GuardedBy("this")
        private @Nullable Lite servedAt;

        @GuardedBy("this")
        private boolean closed;

        ReattachingServer(String function, int concurrency, RpcHandler handler) {
            this.function = function;
            this.concurrency = concurrency;
            this.handler = handler;
        }

        /** Throws what {@link LtRpc#register} throws. A lost session serves nothing, so the next one may register it. */
        synchronized void register() {
            Deadline deadline = keeper.deadline();
            // Before the registration: a session that is lost right after it finds the listener.
            keeper.addAttachListener(attachListener);
            boolean registered = false;
            try {
                while (!registered) {
                    Lite at = keeper.open(deadline);
                    try {
                        server = at.rpc().register(function, concurrency, handler);
                        servedAt = at;
                        registered = true;
                    } catch (SessionLostException lost) {
                        keeper.pauseBeforeRetry(lost, deadline);
                    }
                }
            } finally {
                if (!registered) {
                    close();
                }
            }
        }

        /** At the first session of a lazy one, which is attached in the background. */
        void registerLater() {
            keeper.addAttachListener(attachListener);
            Lite attached = keeper.last(); // by another thread, before it could see the listener
            if (attached != null) {
                registerAgain(attached);
            } else {
                keeper.attachSoon();
            }
        }

        /** For a new session. On a thread of its own: tries until it succeeds or that session has ended. */
        private void registerAgain(Lite at) {
            Thread registering = Thread.ofVirtual().name("lite-register").unstarted(() -> {
                long pauseNs = RETRY_NS_MIN;
                while (keeper.isCurrent(at) && !tryRegister(at)) {
                    keeper.pause(pauseNs);
                    pauseNs = Math.min(2 * pauseNs, RETRY_NS_MAX);
                }
            });
            registering.setContextClassLoader(loader);
            registering.start();
        }

        /** Returns whether nothing is left to do. */
        private synchronized boolean tryRegister(Lite at) {
            if (closed || servedAt == at) {
                return true;
            }
            try {
                server = at.rpc().register(function, concurrency, handler);
                servedAt = at;
                return true;
            } catch (SessionLostException e) {
                return true; // the next session's listener registers it
            } catch (RuntimeException | Error e) { // for example no memory for a thread; later there may be some
                LOG.warn("Cannot register the function {} again at node {} yet", function, at.nodeName(), e);
                return false;
            }
        }

        @Override
        public String function() {
            return function;
        }

        @Override
        public RpcCall receive(Duration deadline) {
            throw hasHandler();
        }

        @Override
        public RpcCall replyAndReceive(RpcCall call, MemorySegment reply, Duration deadline) {
            throw hasHandler();
        }

        private IllegalStateException hasHandler() {
            return new IllegalStateException("the function \"%s\" has a handler".formatted(function));
        }

        @Override
        public synchronized void close() {
            closed = true;
            keeper.removeAttachListener(attachListener);
            if (server != null) {
                server.close();
            }
        }
    }
}
