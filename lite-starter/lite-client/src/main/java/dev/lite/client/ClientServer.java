package dev.lite.client;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.os.RawMemory;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.TaskStart;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.channel.ChannelEndedException;
import dev.lite.session.channel.ChannelServer;
import dev.lite.session.channel.ReceivedRequest;
import dev.lite.session.handling.HandlerExecution;
import dev.lite.session.protocol.FurtherCalls;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.session.wire.WireText;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
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
    /** How long a closed server waits until its callers have closed the channels in which no call waits for its answer. */
    private static final long FINISH_NS = 5_000_000_000L;
    /** As good as forever, and safe to add to a time. */
    private static final long FOREVER_NS = Long.MAX_VALUE / 4;

    private static final ThreadFactory HANDLERS = Thread.ofVirtual()
            .name("lite-client-handler")
            .inheritInheritableThreadLocals(false) // any thread may start them
            .factory();

    private final RpcCommandPath commands;
    private final String function;
    private final long id;
    private final boolean hasHandler;
    /** Only {@link Received}s. */
    private final CallsAhead<RpcCall> ahead = new CallsAhead<>();

    private final IncomingCalls incoming;
    private final AtomicBoolean closed = new AtomicBoolean();

    ClientServer(RpcCommandPath commands, String function, long id, boolean hasHandler) {
        this.commands = commands;
        this.function = function;
        this.id = id;
        this.hasHandler = hasHandler;
        incoming = new IncomingCalls(commands, function, id, ahead, new Calls());
        commands.session().channels().serve(id, incoming);
        commands.session().use().functions().put(this, function);
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
        return incoming.receive(System.nanoTime() + RpcCommandPath.toNanos(deadline));
    }

    @Override
    public RpcCall replyAndReceive(RpcCall call, MemorySegment reply, Duration deadline) {
        Segments.requireReadable("reply", reply);
        Objects.requireNonNull(call, "call");
        long timeoutNs = RpcCommandPath.toNanos(deadline);
        requireReceivable();
        if (!(call instanceof Received received) || received.server() != this) {
            throw new IllegalArgumentException(
                    "the server of the function \"%s\" did not receive this call".formatted(function));
        }
        long deadlineNs = System.nanoTime() + timeoutNs;
        ReceiveSlots receives = commands.session().receives();
        boolean sent = false;
        RpcCall next = null;
        if (goesWithReceive(received, reply) && receives.tryTakeLasting()) {
            try {
                int slot = commands.tryAcquire(SlotPool.Use.RECEIVE);
                if (slot >= 0) {
                    sent = true;
                    next = replyAndReceive(slot, received, reply, deadlineNs);
                }
            } catch (LiteTimeoutException e) {
                // The function has channels, or it is time to look for calls that another thread got.
                if (deadlineNs - System.nanoTime() <= 0) {
                    throw e;
                }
            } finally {
                receives.giveBack(ReceiveSlots.Place.LASTING);
            }
        }
        if (!sent) {
            received.reply(reply);
        }
        return incoming.receive(next, deadlineNs);
    }

    /** Whether one command may reply and receive. A reply that may be too long may not: the call must stay unanswered then. */
    private boolean goesWithReceive(Received call, MemorySegment reply) {
        return call.channel == null
                && !incoming.hasChannels()
                && !incoming.isStanding()
                && ahead.isEmpty()
                && reply.byteSize()
                        <= Math.min(call.replyBytesMax, commands.data().windowBytes());
    }

    private RpcCall replyAndReceive(int slot, Received call, MemorySegment reply, long deadlineNs) {
        String what = RpcCommandPath.what(Op.REPLY_AND_RECEIVE, function);
        int further = 0;
        try {
            RawMemory.copyFrom(reply, 0, commands.data().window(slot), reply.byteSize());
            call.answer();
            further = ahead.ask(FurtherCalls.MAX);
            long timeoutNs = incoming.timeoutNs(deadlineNs);
            long length = commands.run(
                    what, slot, Op.REPLY_AND_RECEIVE, id, further, reply.byteSize(), call.number, 0, timeoutNs);
            return fromNode(slot, length);
        } finally {
            returnReceive(slot);
            if (further > 0) {
                ahead.asked();
            }
        }
    }

    private RpcCall fromNode(int slot, long length) {
        List<Received> further = new ArrayList<>(0);
        Received first;
        try {
            first = first(slot, length);
            forEachFurther(slot, length, (at, bytes) -> further.add(further(at, bytes)));
        } catch (Throwable e) { // for example: no memory for a message
            try {
                refuseLater(numbers(slot, length));
            } catch (Throwable again) {
                Unrecoverable.note(e, again);
            }
            throw e;
        }
        further.forEach(this::putAhead);
        return first;
    }

    private Received first(int slot, long length) {
        DataPath data = commands.data();
        byte[] message = message(data.window(slot), Math.clamp(length, 0, data.windowBytes()));
        int contextBytes = Math.clamp(data.receivedContext(slot), 0, message.length);
        long caller = data.receivedOrigin(slot);
        RpcOriginIs origin = commands.knownOrigin(caller);
        int replyBytesMax = data.receivedReplyMax(slot);
        return new Received(data.receivedCall(slot), caller, origin, message, contextBytes, replyBytesMax, null);
    }

    private Received further(long at, int bytes) {
        long caller = FurtherCalls.origin(at);
        return new Received(
                FurtherCalls.call(at),
                caller,
                commands.knownOrigin(caller),
                message(FurtherCalls.message(at), bytes),
                Math.clamp(FurtherCalls.contextBytes(at), 0, bytes),
                FurtherCalls.replyBytesMax(at),
                null);
    }

    /** Takes a further call in a window. */
    private interface Further {
        /** @param bytes of its message, checked */
        void at(long address, int bytes);
    }

    /** @param length of the message of the first call */
    private void forEachFurther(int slot, long length, Further action) {
        DataPath data = commands.data();
        long window = data.window(slot);
        int further = Math.clamp(data.receivedFurther(slot), 0, FurtherCalls.MAX);
        long offset = FurtherCalls.after(Math.clamp(length, 0, data.windowBytes()));
        for (int i = 0; i < further; i++) {
            long room = FurtherCalls.room(offset, data.windowBytes());
            if (room < 0) {
                return;
            }
            int bytes = (int) Math.clamp(FurtherCalls.length(window + offset), 0, room);
            action.at(window + offset, bytes);
            offset = FurtherCalls.after(offset, bytes);
        }
    }

    /** The numbers of all calls that a command has received. */
    private List<Long> numbers(int slot, long length) {
        List<Long> numbers = new ArrayList<>();
        numbers.add(commands.data().receivedCall(slot));
        forEachFurther(slot, length, (at, bytes) -> numbers.add(FurtherCalls.call(at)));
        return numbers;
    }

    /** Returns the slot of a receive; see {@link IncomingCalls.Made#returnSlot}. */
    private void returnReceive(int slot) {
        if (commands.data().isUnderWay(slot) && commands.session().isOpen()) {
            later(() -> refuseLate(slot));
        } else {
            commands.data().returnSlot(slot);
        }
    }

    /** Waits for the end of a receive that the node should have ended before. A thread of its own, which owns the slot. */
    private void refuseLate(int slot) {
        DataPath data = commands.data();
        List<Long> late = List.of();
        try {
            if (data.await(slot, System.nanoTime() + FOREVER_NS) == DataPath.Outcome.DONE && !data.hasFailed(slot)) {
                late = numbers(slot, data.result(slot));
            }
        } finally {
            data.returnSlot(slot);
        }
        refuseLater(late);
    }

    private void refuseLater(List<Long> calls) {
        if (!calls.isEmpty()) {
            String why = "no thread of the application that serves \"%s\" could take the call".formatted(function);
            later(() -> calls.forEach(call -> refuse(call, why)));
        }
    }

    private static void later(Runnable task) {
        Thread unused = Thread.ofVirtual().name("lite-client-refuse").start(task);
    }

    private static byte[] message(long address, int length) {
        byte[] message = new byte[length];
        RawMemory.copyTo(address, MemorySegment.ofArray(message), 0, length);
        return message;
    }

    private void putAhead(Received call) {
        if (!ahead.add(call)) {
            notTaken(call);
        }
    }

    /**
     * The session ends: refuses the calls that no thread has taken, and those that still come. Any thread.
     *
     * @param deadlineNs of {@link System#nanoTime}
     */
    void leave(long deadlineNs) {
        if (incoming.isStanding()) {
            try {
                commands.close(id, Math.max(0, deadlineNs - System.nanoTime())); // after it, no call comes any more
                incoming.refuseStanding();
            } catch (LiteException e) {
                LOG.debug("\"{}\" could not be closed", function, e);
            }
        }
        refuseAhead();
    }

    private void refuseAhead() {
        ahead.close().forEach(this::notTaken);
    }

    /** Refuses a call that no thread has taken: its caller may try another server. */
    private void notTaken(RpcCall call) {
        Received received = (Received) call;
        received.answer();
        refuse(received.number);
    }

    private void refuse(long call) {
        refuse(call, String.valueOf(RpcCommandPath.closed(function).getMessage()));
    }

    private void refuse(long call, String why) {
        try {
            post(call, Op.FAIL, Op.NOT_TAKEN, MemorySegment.ofArray(WireText.cut(why, RpcCall.FAIL_BYTES_MAX)));
        } catch (LiteException | IllegalStateException e) {
            LOG.debug("a call of \"{}\" could not be refused", function, e);
        }
    }

    /** Makes the calls that are received. */
    private final class Calls implements IncomingCalls.Made {
        @Override
        public RpcCall fromNode(int slot, long length) {
            return ClientServer.this.fromNode(slot, length);
        }

        @Override
        public RpcCall fromChannel(ReceivedRequest request) {
            byte[] bytes = new byte[request.length()];
            MemorySegment.copy(request.bytes(), ValueLayout.JAVA_BYTE, 0, bytes, 0, bytes.length);
            ChannelServer channel = request.channel();
            RpcOriginIs origin = new RpcOriginIs(0, channel.node(), channel.principal());
            return new Received(request.call(), 0, origin, bytes, request.contextLength(), 0, channel);
        }

        @Override
        public void awaitCaller(RpcCall call, long deadlineNs) {
            ((Received) call).awaitOrigin(deadlineNs);
        }

        @Override
        public void refuse(long number) {
            ClientServer.this.refuse(number);
        }

        @Override
        public void returnSlot(int slot) {
            returnReceive(slot);
        }
    }

    /** Waits until the node has sent the answer. */
    private void answer(long call, int op, long offset, MemorySegment message, int handlerCode) {
        ClientRpc.checkLength("the reply", message.byteSize(), commands.data().windowBytes());
        String what = RpcCommandPath.what(op, function);
        long timeoutNs = commands.session().deadlineNs();
        int slot = commands.acquire(SlotPool.Use.OTHER, what, timeoutNs);
        try {
            RawMemory.copyFrom(message, 0, commands.data().window(slot), message.byteSize());
            long none = commands.run(what, slot, op, id, offset, message.byteSize(), call, handlerCode, timeoutNs);
            assert none == 0;
        } finally {
            commands.data().returnSlot(slot);
        }
    }

    /** Passes an answer to the node, which sends it; its caller takes an answer of that length. */
    private void post(long call, int op, long offset, MemorySegment message) {
        ClientRpc.checkLength("the reply", message.byteSize(), commands.data().windowBytes());
        commands.requireOpen();
        long timeoutNs = commands.session().deadlineNs();
        int slot = commands.acquire(SlotPool.Use.OTHER, RpcCommandPath.what(op, function), timeoutNs);
        try {
            RawMemory.copyFrom(message, 0, commands.data().window(slot), message.byteSize());
            commands.submitUnwatched(slot, op, id, offset, message.byteSize(), call, timeoutNs);
        } finally {
            commands.data().returnSlot(slot); // free again when the node has sent the reply
        }
    }

    private void requireReceivable() {
        if (hasHandler) {
            throw new IllegalStateException("the function \"%s\" has a handler".formatted(function));
        }
        if (closed.get()) {
            throw RpcCommandPath.closed(function);
        }
    }

    /**
     * Executes calls on virtual threads, at most {@code concurrency} at the same time; another virtual thread receives them. That
     * thread ends only with the server or its session, whatever one call or one receive throws.
     */
    void startHandler(RpcHandler handler, int concurrency) {
        startHandler(handler, concurrency, HANDLERS);
    }

    /** @param threads makes the threads that execute calls */
    void startHandler(RpcHandler handler, int concurrency, ThreadFactory threads) {
        HandlerExecution execution = new HandlerExecution(function, handler, LOG::warn);
        Thread unused = Thread.ofVirtual()
                .name("lite-client-serve")
                .start(() -> serve(execution, threads, new Semaphore(concurrency)));
    }

    private void serve(HandlerExecution handler, ThreadFactory threads, Semaphore permits) {
        boolean permitted = false;
        // A channel that comes after the end of this thread is refused: nobody would take its requests.
        while (!(closed.get() && incoming.endWithoutChannels())
                && commands.session().isOpen()) {
            if (!permitted) {
                permits.acquireUninterruptibly();
                permitted = true;
            }
            try {
                long deadlineNs = System.nanoTime() + RECEIVE_DEADLINE.toNanos();
                RpcCall call = incoming.serve(
                        taken -> {
                            start(handler, threads, taken, permits);
                            return permits.tryAcquire();
                        },
                        deadlineNs,
                        permits.availablePermits());
                permitted = false;
                if (call != null) {
                    start(handler, threads, call, permits);
                }
            } catch (LiteTimeoutException e) {
                // No call for a while: receive again.
            } catch (SessionLostException e) {
                LOG.debug("serving \"{}\" ended", function, e);
                if (!closed.get()) {
                    return;
                } // else channels may have come before the node knew of the close, and their calls wait for this thread
            } catch (Throwable e) { // also an Error: the next call may succeed
                LOG.warn("Cannot receive a call of \"{}\"; receiving the next", function, e);
                Polling.sleepNs(RECEIVE_PAUSE_NS);
            }
        }
    }

    /** Starts the handler, with a permit that it releases at its end; if that is not possible, declines the call. Throws nothing. */
    private void start(HandlerExecution handler, ThreadFactory threads, RpcCall call, Semaphore permits) {
        try {
            TaskStart.on(task -> threads.newThread(task).start(), () -> {
                try {
                    execute(handler, call);
                } finally {
                    permits.release();
                }
            });
        } catch (Throwable e) { // no memory for a thread
            permits.release();
            LOG.warn("Cannot start the handler of \"{}\"; declining the call", function, e);
            decline(call);
        }
    }

    private void decline(RpcCall call) {
        try {
            call.decline("no thread of the application that serves \"%s\" could take the call".formatted(function));
        } catch (Throwable e) {
            LOG.warn("Cannot decline a call of \"{}\"; its caller waits for its deadline", function, e);
        }
    }

    private void execute(HandlerExecution handler, RpcCall call) {
        try {
            handler.execute(call);
        } catch (LiteException e) {
            LOG.debug("a call of \"{}\" could not be answered", function, e);
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            commands.session().use().functions().remove(this);
            commands.session().channels().stopServing(id);
            if (hasHandler) {
                incoming.leaveNode();
            }
            try {
                commands.close(id);
            } finally { // also if the node did not answer
                refuseAhead();
                if (!hasHandler) {
                    incoming.endReceives();
                }
                Thread unused = Thread.ofVirtual().name("lite-client-serve").start(this::finish);
            }
        }
    }

    /**
     * Lets the callers close their channels. Until then, but for {@value #FINISH_NS} ns at most, a handler also gets the requests that
     * still come. The calls that are under way may be answered as long as their callers wait.
     */
    private void finish() {
        long endNs = System.nanoTime() + FINISH_NS;
        if (hasHandler) {
            while (incoming.hasChannels() && System.nanoTime() - endNs < 0) {
                Polling.sleepNs(RECEIVE_PAUSE_NS);
            }
            incoming.endReceives();
        }
        incoming.finish(endNs);
    }

    /** A call of this server. */
    private final class Received implements RpcCall {
        private final long number;
        /** Of the caller's name; null: it was known. */
        private final @Nullable OriginQuery query;
        /** Known before the application gets the call. */
        private @Nullable RpcOriginIs origin;

        private final byte[] message;
        private final int contextBytes;
        /** The longest reply that the caller takes, in bytes; 0: only the node or the channel knows. */
        private final int replyBytesMax;
        /** The channel through which it came, which takes the answer; or null: the node does. */
        private final @Nullable ChannelServer channel;

        /** Of a call that came from the node; a channel knows which of its calls are answered. */
        private final AtomicBoolean answered = new AtomicBoolean();

        /**
         * @param origin null if the name of the caller with this number is not known yet
         * @param message the context and the request
         */
        Received(
                long number,
                long caller,
                @Nullable RpcOriginIs origin,
                byte[] message,
                int contextBytes,
                int replyBytesMax,
                @Nullable ChannelServer channel) {
            this.number = number;
            query = origin == null ? new OriginQuery(commands, caller) : null;
            this.origin = origin;
            this.message = message;
            this.contextBytes = contextBytes;
            this.replyBytesMax = replyBytesMax;
            this.channel = channel;
        }

        ClientServer server() {
            return ClientServer.this;
        }

        /** The thread that has the call; see {@link IncomingCalls.Made#awaitCaller}. */
        void awaitOrigin(long deadlineNs) {
            if (query == null) {
                return;
            }
            try {
                origin = query.await(deadlineNs);
            } catch (Throwable e) { // the node does not tell it, or there is no memory for a thread
                try {
                    refuseLater(List.of(number));
                } catch (Throwable again) {
                    Unrecoverable.note(e, again);
                }
                throw e;
            }
            if (origin == null) {
                if (!ahead.putBack(this)) {
                    notTaken(this);
                }
                throw new LiteTimeoutException(
                        "%s: the node did not send the caller's name before the deadline; the next receive gets the call"
                                .formatted(RpcCommandPath.what(Op.RECEIVE, function)));
            }
        }

        private RpcOriginIs origin() {
            return Objects.requireNonNull(origin);
        }

        @Override
        public String callerNode() {
            return origin().node();
        }

        @Override
        public String callerPrincipal() {
            return origin().principal();
        }

        @Override
        public MemorySegment request() {
            return MemorySegment.ofArray(message).asSlice(contextBytes).asReadOnly();
        }

        @Override
        public @Nullable String context() {
            return contextBytes == 0 ? null : new String(message, 0, contextBytes, StandardCharsets.UTF_8);
        }

        void answer() {
            if (!answered.compareAndSet(false, true)) {
                throw new IllegalStateException("a call of \"%s\" was already answered".formatted(function));
            }
        }

        @Override
        public void reply(MemorySegment reply) {
            Segments.requireReadable("reply", reply);
            if (channel == null) {
                answer();
                try {
                    replyThroughNode(reply);
                } catch (LimitExceededException | LiteTimeoutException | IllegalStateException | Error e) {
                    // It is too long for the caller, the node did not take it in time, its arena was closed just now,
                    // or its file was truncated: the call is still unanswered.
                    answered.set(false);
                    throw e;
                }
                return;
            }
            try {
                channel.reply(number, reply);
            } catch (ChannelEndedException e) {
                throw callerGone(e);
            }
        }

        @Override
        public void fail(int handlerCode, String message) {
            fail(RpcStatus.HANDLER_FAILED, handlerCode, message);
        }

        @Override
        public void decline(String message) {
            fail(RpcStatus.NOT_SERVED, 0, message);
        }

        private void fail(RpcStatus status, int handlerCode, String message) {
            Objects.requireNonNull(message, "message");
            if (channel == null) {
                answer();
                try {
                    byte[] text = WireText.cut(message, FAIL_BYTES_MAX);
                    long offset = status == RpcStatus.NOT_SERVED ? Op.NOT_TAKEN : 0;
                    ClientServer.this.answer(number, Op.FAIL, offset, MemorySegment.ofArray(text), handlerCode);
                } catch (LiteTimeoutException | Error e) { // likewise
                    answered.set(false);
                    throw e;
                }
                return;
            }
            try {
                channel.fail(number, status, handlerCode, message);
            } catch (ChannelEndedException e) {
                throw callerGone(e);
            }
        }

        private void replyThroughNode(MemorySegment reply) {
            if (replyBytesMax == 0) {
                ClientServer.this.answer(number, Op.REPLY, 0, reply, 0); // the node must say whether it is too long
                return;
            }
            if (reply.byteSize() > replyBytesMax) {
                throw new LimitExceededException("the reply has %d bytes; the caller takes at most %d"
                        .formatted(reply.byteSize(), replyBytesMax));
            }
            post(number, Op.REPLY, 0, reply);
        }

        private LiteException callerGone(ChannelEndedException e) {
            return commands.session().isOpen()
                    ? new NodeUnreachableException("cannot answer a call: " + e.getMessage(), e)
                    : commands.session().lost();
        }
    }
}
