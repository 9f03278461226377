package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The application's one session, made anew when the node went away and came back, so that an injected {@link LtMemory}
 * outlives its node's restart. The first call after the loss attaches again; while nobody listens it gets the
 * {@link dev.lite.api.NodeUnreachableException} of the attempt. Handles belong to the session that made them: after a
 * loss they throw {@link SessionLostException}, and their owner maps by name again. Handlers do not: while an application has
 * any, a lost session is replaced without a call, and they are served there again.
 *
 * <p>Every method may be called by any number of threads; one of them attaches, the others wait for it, at most for the
 * configured deadline.
 */
final class ReattachingLite implements Lite {

    private static final Logger LOG = LoggerFactory.getLogger(ReattachingLite.class);
    private static final long RETRY_NS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long RETRY_NS_MAX = TimeUnit.SECONDS.toNanos(5);

    private final AttachOptions options;
    private final Function<AttachOptions, Lite> attach;
    private final LtMemory memory = new CurrentMemory();
    private final LtRpc rpc = new CurrentRpc();
    private final LtSync sync = new CurrentSync();
    private final ReentrantLock attaching = new ReentrantLock();
    private final CompletableFuture<String> ended = new CompletableFuture<>();
    /** Registered handlers; one for each function of the application. */
    private final Set<KeptHandler> handlers = ConcurrentHashMap.newKeySet();

    private volatile Lite session;
    private volatile boolean closed;

    /** Attaches; throws what {@link Lite#attach} throws. */
    ReattachingLite(AttachOptions options, Function<AttachOptions, Lite> attach) {
        this.options = options;
        this.attach = attach;
        this.session = attach.apply(options);
        watch(session);
        LOG.info("Attached to node {} at {} as {}", session.nodeName(), options.socket(), options.application());
    }

    @Override
    public LtMemory memory() {
        return memory;
    }

    @Override
    public LtRpc rpc() {
        return rpc;
    }

    @Override
    public LtSync sync() {
        return sync;
    }

    @Override
    public String nodeName() {
        return session.nodeName();
    }

    @Override
    public List<NodeInfo> nodes() {
        return openSession().nodes();
    }

    @Override
    public boolean isOpen() {
        return !closed && session.isOpen();
    }

    @Override
    public void close() {
        attaching.lock();
        try {
            closed = true;
            session.close();
        } finally {
            attaching.unlock();
        }
        ended.completeAsync(
                () -> "the application closed it",
                work -> Thread.ofVirtual().name("lite-ended").start(work));
    }

    @Override
    public CompletionStage<String> ended() {
        return ended.minimalCompletionStage();
    }

    private void watch(Lite attached) {
        CompletionStage<Void> unused = attached.ended().thenAccept(reason -> serveAgain());
    }

    /** Attaches again for the handlers' sake; asks the node again and again, more and more seldom. A virtual thread. */
    private void serveAgain() {
        long pauseNs = RETRY_NS_MIN;
        while (!closed && !handlers.isEmpty()) {
            try {
                openSession();
                return;
            } catch (LiteException e) {
                LOG.debug("No node at {} to serve at yet: {}", options.socket(), e.getMessage());
            }
            LockSupport.parkNanos(pauseNs);
            pauseNs = Math.min(2 * pauseNs, RETRY_NS_MAX);
        }
    }

    /** The session of now, open or lost. */
    Lite session() {
        return session;
    }

    private Lite openSession() {
        Lite now = session;
        return now.isOpen() && !closed ? now : attachAgain();
    }

    private Lite attachAgain() {
        if (!awaitTurn()) {
            throw new LiteTimeoutException("attaching again to %s by another thread took longer than the deadline of %s"
                    .formatted(options.socket(), options.deadline()));
        }
        try {
            if (closed) {
                throw new SessionLostException("the session with %s was closed".formatted(options.socket()));
            }
            if (!session.isOpen()) {
                session.close();
                session = attach.apply(options);
                LOG.info("Attached again to node {} at {}", session.nodeName(), options.socket());
                handlers.forEach(handler -> handler.serveAt(session));
                watch(session);
            }
            return session;
        } finally {
            attaching.unlock();
        }
    }

    private boolean awaitTurn() {
        try {
            return attaching.tryLock(options.deadline().toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** The locks and barriers of whichever session is open now; each belongs to the session that it was asked of. */
    private final class CurrentSync implements LtSync {
        @Override
        public LtLock lock(String name) {
            return openSession().sync().lock(name);
        }

        @Override
        public LtBarrier barrier(String name, int parties) {
            return openSession().sync().barrier(name, parties);
        }
    }

    /** The memory of whichever session is open now. */
    private final class CurrentMemory implements LtMemory {
        @Override
        public LmrHandle malloc(LmrSpec spec, Duration deadline) {
            return openSession().memory().malloc(spec, deadline);
        }

        @Override
        public LmrHandle malloc(LmrSpec spec) {
            return openSession().memory().malloc(spec);
        }

        @Override
        public LmrHandle map(String name, Set<Permission> permissions, Duration deadline) {
            return openSession().memory().map(name, permissions, deadline);
        }

        @Override
        public LmrHandle map(String name, Set<Permission> permissions) {
            return openSession().memory().map(name, permissions);
        }

        @Override
        public LmrHandle map(long id, Set<Permission> permissions, Duration deadline) {
            return openSession().memory().map(id, permissions, deadline);
        }

        @Override
        public LmrHandle map(long id, Set<Permission> permissions) {
            return openSession().memory().map(id, permissions);
        }

        @Override
        public LmrHandle register(LmrSpec spec, MemorySegment segment) {
            return openSession().memory().register(spec, segment);
        }

        @Override
        public void memcpy(
                LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
            openSession().memory().memcpy(source, sourceOffset, destination, destinationOffset, length);
        }

        @Override
        public void memmove(
                LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
            openSession().memory().memmove(source, sourceOffset, destination, destinationOffset, length);
        }

        @Override
        public void fence(Duration deadline) {
            openSession().memory().fence(deadline);
        }
    }

    /**
     * The calls of whichever session is open now. What was opened with {@code serve}, {@code bind} or {@code messages}
     * belongs to the session that opened it, as handles do.
     */
    private final class CurrentRpc implements LtRpc {
        @Override
        public RpcServer serve(String function) {
            return openSession().rpc().serve(function);
        }

        @Override
        public RpcServer register(String function, int concurrency, RpcHandler handler) {
            KeptHandler kept = new KeptHandler(function, concurrency, handler);
            kept.first(openSession());
            return kept;
        }

        @Override
        public RpcClient bind(String node, String function) {
            return openSession().rpc().bind(node, function);
        }

        @Override
        public Map<String, RpcOutcome> multicast(
                Collection<String> nodes, String function, byte[] request, Duration deadline) {
            return openSession().rpc().multicast(nodes, function, request, deadline);
        }

        @Override
        public void send(String node, String port, MemorySegment message, Duration deadline) {
            openSession().rpc().send(node, port, message, deadline);
        }

        @Override
        public RpcMessages messages(String port) {
            return openSession().rpc().messages(port);
        }
    }

    /** A handler that is served by one session after the other. */
    private final class KeptHandler implements RpcServer {
        private final String function;
        private final int concurrency;
        private final RpcHandler handler;
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
            handlers.add(this);
        }

        synchronized void serveAt(Lite at) {
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
            handlers.remove(this);
            if (server != null) {
                server.close();
            }
        }
    }
}
