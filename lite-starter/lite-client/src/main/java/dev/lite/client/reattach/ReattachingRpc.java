package dev.lite.client.reattach;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.client.reattach.SessionKeeper.Kept;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls of whichever session is open now. A call that meets the end of the session is not repeated: it may have been carried
 * out. What was opened with {@code serve} or {@code messages} belongs to the session that opened it.
 */
final class ReattachingRpc implements LtRpc {
    private static final Logger LOG = LoggerFactory.getLogger(ReattachingRpc.class);

    private final SessionKeeper keeper;

    ReattachingRpc(SessionKeeper keeper) {
        this.keeper = keeper;
    }

    @Override
    public RpcServer serve(String function) {
        return keeper.open().rpc().serve(function);
    }

    @Override
    public RpcServer register(String function, int concurrency, RpcHandler handler) {
        KeptHandler kept = new KeptHandler(function, concurrency, handler);
        kept.first(keeper.open());
        return kept;
    }

    @Override
    public RpcClient bind(String node, String function) {
        return new CurrentClient(node, function);
    }

    @Override
    public Map<String, RpcOutcome> multicast(
            Collection<String> nodes, String function, byte[] request, Duration deadline) {
        long deadlineNs = SessionKeeper.deadlineNs(deadline);
        return keeper.open(deadlineNs).rpc().multicast(nodes, function, request, SessionKeeper.left(deadlineNs));
    }

    @Override
    public void send(String node, String port, MemorySegment message, Duration deadline) {
        long deadlineNs = SessionKeeper.deadlineNs(deadline);
        keeper.open(deadlineNs).rpc().send(node, port, message, SessionKeeper.left(deadlineNs));
    }

    @Override
    public RpcMessages messages(String port) {
        return keeper.open().rpc().messages(port);
    }

    private final class CurrentClient implements RpcClient {
        private final String node;
        private final String function;
        private final Kept<RpcClient> kept;

        CurrentClient(String node, String function) {
            this.node = node;
            this.function = function;
            this.kept = new Kept<>(keeper, session -> session.rpc().bind(node, function));
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
        public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
            RpcClient open = kept.ifOpen();
            if (open != null) {
                return open.call(request, reply, deadline); // without a new deadline, which would be an object
            }
            long deadlineNs = SessionKeeper.deadlineNs(deadline);
            return kept.get(deadlineNs).call(request, reply, SessionKeeper.left(deadlineNs));
        }

        @Override
        public byte[] call(byte[] request, Duration deadline) {
            long deadlineNs = SessionKeeper.deadlineNs(deadline);
            return kept.get(deadlineNs).call(request, SessionKeeper.left(deadlineNs));
        }

        @Override
        public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
            long deadlineNs = SessionKeeper.deadlineNs(deadline);
            return kept.get(deadlineNs).callAsync(request, SessionKeeper.left(deadlineNs));
        }
    }

    /** A handler that is served by one session after the other. */
    private final class KeptHandler implements RpcServer {
        private final String function;
        private final int concurrency;
        private final RpcHandler handler;
        private final Consumer<Lite> again = this::serveAt;
        private @Nullable RpcServer server; // guarded by this
        private boolean ended; // guarded by this

        KeptHandler(String function, int concurrency, RpcHandler handler) {
            this.function = function;
            this.concurrency = concurrency;
            this.handler = handler;
        }

        /** Throws what {@link LtRpc#register} throws. */
        synchronized void first(Lite at) {
            server = at.rpc().register(function, concurrency, handler);
            keeper.keep(again);
        }

        private synchronized void serveAt(Lite at) {
            if (ended) {
                return;
            }
            try {
                server = at.rpc().register(function, concurrency, handler);
            } catch (LiteException e) {
                LOG.error("The function {} is not served at node {} again", function, at.nodeName(), e);
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
            ended = true;
            keeper.forget(again);
            if (server != null) {
                server.close();
            }
        }
    }
}
