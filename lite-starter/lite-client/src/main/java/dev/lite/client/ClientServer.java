package dev.lite.client;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Polling;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A function that this application serves. Any thread. */
final class ClientServer implements RpcServer {
    private static final Logger LOG = LoggerFactory.getLogger(ClientServer.class);
    private static final Duration RECEIVE_DEADLINE = Duration.ofMinutes(1);
    /** After a receive that failed, so that a lasting failure does not take a processor. */
    private static final long RECEIVE_PAUSE_NS = 10_000_000;

    private final RpcCommandPath commands;
    private final String function;
    private final long id;
    private final boolean hasHandler;
    private final AtomicBoolean closed = new AtomicBoolean();

    ClientServer(RpcCommandPath commands, String function, long id, boolean hasHandler) {
        this.commands = commands;
        this.function = function;
        this.id = id;
        this.hasHandler = hasHandler;
    }

    @Override
    public String function() {
        return function;
    }

    @Override
    public RpcCall receive(Duration deadline) {
        requireReceivable();
        return receiveHere(deadline);
    }

    private RpcCall receiveHere(Duration deadline) {
        return command(Op.RECEIVE, 0, null, deadline);
    }

    @Override
    public RpcCall replyAndReceive(RpcCall call, MemorySegment reply, Duration deadline) {
        requireReceivable();
        if (!(call instanceof Received received) || received.server() != this) {
            throw new IllegalArgumentException("this server did not receive the call " + call);
        }
        // Before the call counts as answered.
        ClientRpc.checkLength("the reply", reply.byteSize(), commands.data().windowBytes());
        received.answer();
        return command(Op.REPLY_AND_RECEIVE, received.number, reply, deadline);
    }

    private RpcCall command(int op, long call, @Nullable MemorySegment reply, Duration deadline) {
        String what = RpcCommandPath.what(op, function);
        long timeoutNs = RpcCommandPath.toNanos(deadline);
        int slot = commands.acquire(what, timeoutNs);
        try {
            long length = reply == null ? 0 : reply.byteSize();
            if (reply != null) {
                RawMemory.copyFrom(reply, 0, commands.data().window(slot), length);
            }
            long received = commands.run(what, slot, op, id, length, call, timeoutNs);
            byte[] request = new byte[Math.clamp(received, 0, commands.data().windowBytes())];
            RawMemory.copyTo(commands.data().window(slot), MemorySegment.ofArray(request), 0, request.length);
            return new Received(commands.data().receivedCall(slot), commands.origin(slot), request);
        } finally {
            commands.data().returnSlot(slot);
        }
    }

    private void answer(long call, int op, MemorySegment message) {
        ClientRpc.checkLength("the reply", message.byteSize(), commands.data().windowBytes());
        String what = RpcCommandPath.what(op, function);
        long timeoutNs = commands.session().deadlineNs();
        int slot = commands.acquire(what, timeoutNs);
        try {
            RawMemory.copyFrom(message, 0, commands.data().window(slot), message.byteSize());
            long none = commands.run(what, slot, op, id, message.byteSize(), call, timeoutNs);
            assert none == 0;
        } finally {
            commands.data().returnSlot(slot);
        }
    }

    private void requireReceivable() {
        if (hasHandler) {
            throw new IllegalStateException("the function \"%s\" has a handler".formatted(function));
        }
        if (closed.get()) {
            throw new SessionLostException("the server of the function \"%s\" was closed".formatted(function));
        }
    }

    /**
     * Executes calls on virtual threads, at most {@code concurrency} at the same time; another thread receives them. That
     * thread ends only with the server or its session, whatever one call or one receive throws.
     */
    void startHandler(RpcHandler handler, int concurrency) {
        Semaphore permits = new Semaphore(concurrency);
        Thread.ofVirtual().name("lite-client-serve").start(() -> {
            while (!closed.get() && commands.session().isOpen()) {
                permits.acquireUninterruptibly();
                boolean started = false;
                try {
                    RpcCall call = receiveHere(RECEIVE_DEADLINE);
                    Thread.ofVirtual().name("lite-client-handler").start(() -> {
                        try {
                            execute(handler, call);
                        } finally {
                            permits.release();
                        }
                    });
                    started = true;
                } catch (LiteTimeoutException e) {
                    // No call for a while: receive again.
                } catch (SessionLostException e) {
                    LOG.debug("serving \"{}\" ended", function, e);
                    return;
                } catch (Throwable e) { // also an Error: the next call may succeed
                    LOG.warn("Cannot receive a call of \"{}\"; receiving the next", function, e);
                    Polling.sleepNs(RECEIVE_PAUSE_NS);
                } finally {
                    if (!started) {
                        permits.release();
                    }
                }
            }
        });
    }

    private void execute(RpcHandler handler, RpcCall call) {
        try {
            try {
                call.reply(handler.handle(call));
            } catch (Throwable e) { // also an Error: answer, so that the caller does not wait until its deadline
                if (!(e instanceof Exception)) {
                    LOG.error("The handler of \"{}\" failed", function, e);
                }
                if (call instanceof Received received && !received.answered.get()) {
                    call.fail("the handler failed: " + (e instanceof LiteException ? e.getMessage() : e));
                }
            }
        } catch (LiteException e) {
            LOG.debug("a call of \"{}\" could not be answered", function, e);
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            commands.close(id);
        }
    }

    /** A call of this server. */
    private final class Received implements RpcCall {
        private final long number;
        private final RpcOriginIs origin;
        private final byte[] request;
        private final AtomicBoolean answered = new AtomicBoolean();

        Received(long number, RpcOriginIs origin, byte[] request) {
            this.number = number;
            this.origin = origin;
            this.request = request;
        }

        ClientServer server() {
            return ClientServer.this;
        }

        @Override
        public String callerNode() {
            return origin.node();
        }

        @Override
        public String callerPrincipal() {
            return origin.principal();
        }

        @Override
        public MemorySegment request() {
            return MemorySegment.ofArray(request).asReadOnly();
        }

        void answer() {
            if (!answered.compareAndSet(false, true)) {
                throw new IllegalStateException("a call of \"%s\" was already answered".formatted(function));
            }
        }

        @Override
        public void reply(MemorySegment reply) {
            answer();
            try {
                ClientServer.this.answer(number, Op.REPLY, reply);
            } catch (LimitExceededException e) {
                answered.set(false); // too long for the caller: the call is still unanswered
                throw e;
            }
        }

        @Override
        public void fail(String message) {
            answer();
            byte[] text = SessionProtocol.cut(message, 1 << 10);
            ClientServer.this.answer(number, Op.FAIL, MemorySegment.ofArray(text));
        }
    }
}
