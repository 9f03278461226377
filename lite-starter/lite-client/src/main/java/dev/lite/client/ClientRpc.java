package dev.lite.client;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeInfo;
import dev.lite.api.Priority;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.os.RawMemory;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.TaskStart;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.async.AsyncOperations;
import dev.lite.session.channel.ChannelCaller;
import dev.lite.session.channel.ChannelEndedException;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.session.wire.WireText;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** {@link LtRpc} of a session: each call is one command on the data path, or goes through a channel. Any thread. */
final class ClientRpc implements LtRpc {
    private static final byte[] NO_CONTEXT = {};
    private static final MemorySegment EMPTY = MemorySegment.ofArray(new byte[0]);

    /** For asynchronous calls that may have to wait, and for what depends on calls. */
    private static final Executor VIRTUAL = task -> TaskStart.virtual("lite-client-call", task);

    /** Asynchronous calls with a thread and a copy of their request, together at most 64 MiB; and one more for each slot of a channel. */
    private static final int CALLS_ON_THREADS_MAX = AsyncOperations.OPERATIONS_DEFAULT;

    private final RpcCommandPath commands;
    private final ThreadPermits callsOnThreads = new ThreadPermits();
    private final OpenTargets functions;
    private final OpenTargets ports;

    /** For asynchronous calls on threads. */
    @SuppressWarnings("serial") // nobody writes it
    private static final class ThreadPermits extends Semaphore {
        ThreadPermits() {
            super(CALLS_ON_THREADS_MAX);
        }

        /** For a thread that cannot wait: if there is no permit, those that wait get theirs so much later. */
        void acquireAtOnce() {
            reducePermits(1);
        }

        boolean areUsedUp() {
            return availablePermits() <= 0;
        }
    }

    private record Target(RpcKind kind, String node, String name) {
        /** A call of it, for messages. */
        String what() {
            return kind == RpcKind.ANY
                    ? "call of \"%s\" at any node".formatted(name)
                    : "call of \"%s\" at node %s".formatted(name, node);
        }
    }

    ClientRpc(Session session) {
        commands = new RpcCommandPath(session);
        functions = new OpenTargets(session.requests(), OpenTargets.FUNCTIONS_MAX);
        ports = new OpenTargets(session.requests(), OpenTargets.PORTS_MAX);
    }

    @Override
    public RpcServer serve(String function) {
        return new ClientServer(
                commands, LtRpc.checkName(function), commands.open(RpcKind.SERVER, "", function), false);
    }

    @Override
    public RpcServer register(String function, int concurrency, RpcHandler handler) {
        LtRpc.checkConcurrency(function, concurrency);
        Objects.requireNonNull(handler, "handler");
        ClientServer server = new ClientServer(
                commands, LtRpc.checkName(function), commands.open(RpcKind.SERVER, "", function), true);
        server.startHandler(handler, concurrency);
        return server;
    }

    @Override
    public RpcClient bind(String node, String function) {
        NodeInfo.checkName(node);
        return new Bound(new Target(RpcKind.CLIENT, node, LtRpc.checkName(function)), NO_CONTEXT, Priority.HIGH);
    }

    @Override
    public RpcClient bindAny(String function) {
        return new Bound(new Target(RpcKind.ANY, "", LtRpc.checkName(function)), NO_CONTEXT, Priority.HIGH);
    }

    @Override
    public void send(String node, String port, MemorySegment message, Duration deadline) {
        NodeInfo.checkName(node);
        Segments.requireReadable("message", message);
        Durations.requirePositive(deadline);
        long timeoutNs = RpcCommandPath.toNanos(deadline);
        long beganNs = System.nanoTime();
        Target target = new Target(RpcKind.SENDER, node, LtRpc.checkName(port));
        CallTarget sender = ports.enter(target, () -> open(target, timeoutNs));
        try {
            long leftNs = RpcCommandPath.leftNs(timeoutNs, beganNs);
            long none = call(sender, Priority.HIGH, NO_CONTEXT, message, EMPTY, leftNs);
            assert none == 0;
        } finally {
            sender.exit();
        }
    }

    @Override
    public RpcMessages messages(String port) {
        return new ClientMessages(commands, LtRpc.checkName(port), commands.open(RpcKind.PORT, "", port));
    }

    private CallTarget open(Target target, long timeoutNs) {
        return new CallTarget(
                commands.session(),
                commands.open(target.kind(), target.node(), target.name(), timeoutNs),
                target.node(),
                target.what(),
                target.kind() == RpcKind.CLIENT);
    }

    /** Calls of low priority go through the node, which orders them. */
    private static @Nullable ChannelCaller channelFor(CallTarget target, Priority priority, long bytes) {
        return priority == Priority.LOW ? null : target.channelFor(bytes);
    }

    private static long number(CallTarget target, Priority priority) {
        return priority == Priority.LOW ? target.id() | SessionProtocol.LOW_PRIORITY : target.id();
    }

    private long call(
            CallTarget target,
            Priority priority,
            byte[] context,
            MemorySegment request,
            MemorySegment reply,
            long callTimeoutNs) {
        long timeoutNs = callTimeoutNs;
        ChannelCaller channel = channelFor(target, priority, context.length + request.byteSize());
        if (channel != null) {
            long beginNs = System.nanoTime();
            try {
                return channel.call(context, request, reply, beginNs, timeoutNs);
            } catch (ChannelEndedException | RpcFailedException e) {
                timeoutNs = RpcCommandPath.leftNs(timeoutNs, beginNs);
                target.failed(channel, e, timeoutNs);
            }
        }
        int slot = commands.tryAcquire(SlotPool.Use.CALL);
        if (slot < 0) {
            long beganNs = System.nanoTime();
            slot = commands.acquire(SlotPool.Use.CALL, target.what(), timeoutNs);
            timeoutNs = RpcCommandPath.leftNs(timeoutNs, beganNs);
        }
        try {
            long capacity = Math.min(reply.byteSize(), MESSAGE_BYTES_MAX);
            long length = run(target, priority, slot, context, request, capacity, timeoutNs);
            RawMemory.copyTo(commands.data().window(slot), reply, 0, length);
            return length;
        } finally {
            commands.data().returnSlot(slot);
        }
    }

    private byte[] call(
            CallTarget target, Priority priority, byte[] context, MemorySegment request, long callTimeoutNs) {
        long timeoutNs = callTimeoutNs;
        ChannelCaller channel = channelFor(target, priority, context.length + request.byteSize());
        if (channel != null) {
            long beginNs = System.nanoTime();
            try {
                return channel.call(context, request, beginNs, timeoutNs);
            } catch (ChannelEndedException | RpcFailedException e) {
                timeoutNs = RpcCommandPath.leftNs(timeoutNs, beginNs);
                target.failed(channel, e, timeoutNs);
            }
        }
        int slot = commands.tryAcquire(SlotPool.Use.CALL);
        if (slot < 0) {
            long beganNs = System.nanoTime();
            slot = commands.acquire(SlotPool.Use.CALL, target.what(), timeoutNs);
            timeoutNs = RpcCommandPath.leftNs(timeoutNs, beganNs);
        }
        try {
            byte[] reply = new byte[(int) run(target, priority, slot, context, request, MESSAGE_BYTES_MAX, timeoutNs)];
            RawMemory.copyTo(commands.data().window(slot), MemorySegment.ofArray(reply), 0, reply.length);
            return reply;
        } finally {
            commands.data().returnSlot(slot);
        }
    }

    /**
     * Starts a call that no thread waits for. Does not block.
     *
     * @param target the end of a call that has started exits it
     * @return null if it did not start: no slot is free, or its channel has ended
     */
    private @Nullable CompletableFuture<byte[]> tryStart(
            CallTarget target, Priority priority, byte[] context, byte[] request, Duration deadline) {
        ChannelCaller channel = channelFor(target, priority, (long) context.length + request.length);
        long timeoutNs = RpcCommandPath.toNanos(deadline);
        if (channel != null) {
            return callsOnThreads.areUsedUp() // if the channel's server refuses it, the call needs a thread
                    ? null
                    : tryStart(channel, target, priority, context, request, timeoutNs);
        }
        DataPath data = commands.data();
        checkRequest(request.length, context, data.windowBytes());
        int slot = commands.tryAcquire(SlotPool.Use.CALL);
        if (slot < 0) {
            return null;
        }
        long capacity = Math.min(MESSAGE_BYTES_MAX, data.windowBytes());
        AsyncOperations async = commands.session().async();
        boolean started = false;
        try {
            CompletableFuture<byte[]> future = async.newFuture();
            long length = put(slot, context, MemorySegment.ofArray(request));
            commands.start(
                    slot,
                    Op.CALL,
                    number(target, priority),
                    length,
                    capacity,
                    context.length,
                    timeoutNs,
                    (its, outcome, helping) -> {
                        byte[] reply;
                        try {
                            long replied = commands.result(target.what(), its, outcome, timeoutNs);
                            reply = new byte[(int) Math.clamp(replied, 0, capacity)];
                            RawMemory.copyTo(data.window(its), MemorySegment.ofArray(reply), 0, reply.length);
                        } catch (RuntimeException | Error failure) {
                            async.complete(future, () -> future.completeExceptionally(failure), helping);
                            return;
                        } finally {
                            data.returnSlot(its);
                            target.exit();
                        }
                        async.complete(future, () -> future.complete(reply), helping);
                    });
            started = true;
            return future;
        } finally {
            if (!started) { // for example no memory
                data.slots().release(slot);
            }
        }
    }

    private @Nullable CompletableFuture<byte[]> tryStart(
            ChannelCaller channel,
            CallTarget target,
            Priority priority,
            byte[] context,
            byte[] request,
            long timeoutNs) {
        long beganNs = System.nanoTime();
        byte[] copy = request.clone(); // for a second call, if the channel ends before the first one was sent
        CompletableFuture<byte[]> future = channel.newFuture();
        ChannelCaller.Ending ending = new ChannelCaller.Ending() {
            @Override
            public void replied(byte[] reply) {
                target.exit();
                try {
                    channel.complete(future, () -> future.complete(reply));
                } catch (RuntimeException | Error e) { // no memory: nobody else completes it
                    Unrecoverable.report(e);
                    future.complete(reply);
                }
            }

            @Override
            public void failed(Throwable failure) {
                if (failure instanceof RuntimeException why && CallTarget.mayGoThroughNodes(why)) {
                    callsOnThreads.acquireAtOnce();
                    try {
                        VIRTUAL.execute(() -> callAgain(why));
                    } catch (RuntimeException | Error e) { // no memory for a thread
                        endThread();
                        channel.complete(future, () -> future.completeExceptionally(e));
                    }
                } else {
                    target.exit();
                    channel.complete(future, () -> future.completeExceptionally(failure));
                }
            }

            /** Calls again, through the nodes, if the call was not done. */
            private void callAgain(RuntimeException why) {
                byte[] reply;
                try {
                    long leftNs = RpcCommandPath.leftNs(timeoutNs, beganNs);
                    target.failed(channel, why, leftNs);
                    reply = call(target, priority, context, MemorySegment.ofArray(copy), leftNs);
                } catch (RuntimeException | Error again) {
                    endThread();
                    future.completeExceptionally(again);
                    return;
                }
                endThread(); // first: a dependent stage may start the next call
                future.complete(reply);
            }

            private void endThread() {
                callsOnThreads.release();
                target.exit();
            }
        };
        try {
            return channel.start(context, MemorySegment.ofArray(request), beganNs, timeoutNs, ending) ? future : null;
        } catch (ChannelEndedException e) {
            return null; // the thread that calls then finds the end, too
        }
    }

    private long run(
            CallTarget target,
            Priority priority,
            int slot,
            byte[] context,
            MemorySegment request,
            long capacity,
            long timeoutNs) {
        int window = commands.data().windowBytes();
        checkRequest(request.byteSize(), context, window);
        long bytes = put(slot, context, request);
        long length = commands.run(
                target.what(),
                slot,
                Op.CALL,
                number(target, priority),
                bytes,
                Math.min(capacity, window),
                context.length,
                timeoutNs);
        return Math.clamp(length, 0, Math.min(capacity, window));
    }

    /** Puts a context and a request into a window; returns the number of bytes. */
    private long put(int slot, byte[] context, MemorySegment request) {
        long window = commands.data().window(slot);
        if (context.length > 0) {
            RawMemory.copyFrom(MemorySegment.ofArray(context), 0, window, context.length);
        }
        RawMemory.copyFrom(request, 0, window + context.length, request.byteSize());
        return context.length + request.byteSize();
    }

    private static void checkRequest(long bytes, byte[] context, int windowBytes) {
        WireText.checkRequest("the request", bytes, context.length, Math.min(MESSAGE_BYTES_MAX, windowBytes));
    }

    /** Checks the length of a message. */
    static void checkLength(String what, long bytes, int windowBytes) {
        long limit = Math.min(MESSAGE_BYTES_MAX, windowBytes);
        if (bytes > limit) {
            throw new LimitExceededException("%s has %d bytes; the limit is %d".formatted(what, bytes, limit));
        }
    }

    /** A function at a node. */
    private final class Bound implements RpcClient {
        private final Target target;
        private final byte[] context;
        private final Priority priority;
        private volatile @Nullable CallTarget opened;

        Bound(Target target, byte[] context, Priority priority) {
            this.priority = priority;
            this.target = target;
            this.context = context;
            opened = functions.find(target);
        }

        @Override
        public String node() {
            return target.node();
        }

        @Override
        public String function() {
            return target.name();
        }

        @Override
        public RpcClient withContext(String other) {
            return new Bound(target, LtRpc.checkContext(other), priority);
        }

        @Override
        public RpcClient withPriority(Priority other) {
            return new Bound(target, context, Objects.requireNonNull(other, "priority"));
        }

        /** Opens the function, or finds it open; {@link CallTarget#exit} must follow. */
        private CallTarget enter(long timeoutNs) {
            CallTarget known = functions.enter(target, () -> open(target, timeoutNs));
            opened = known;
            return known;
        }

        @Override
        public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
            Segments.requireReadable("request", request);
            Segments.requireWritable("reply", reply);
            Durations.requirePositive(deadline);
            long timeoutNs = RpcCommandPath.toNanos(deadline);
            CallTarget known = opened;
            if (known == null || !known.enter()) {
                long beganNs = System.nanoTime();
                known = enter(timeoutNs);
                timeoutNs = RpcCommandPath.leftNs(timeoutNs, beganNs);
            }
            try {
                return ClientRpc.this.call(known, priority, context, request, reply, timeoutNs);
            } finally {
                known.exit();
            }
        }

        @Override
        public byte[] call(byte[] request, Duration deadline) {
            Objects.requireNonNull(request, "request");
            Durations.requirePositive(deadline);
            long timeoutNs = RpcCommandPath.toNanos(deadline);
            CallTarget known = opened;
            if (known == null || !known.enter()) {
                long beganNs = System.nanoTime();
                known = enter(timeoutNs);
                timeoutNs = RpcCommandPath.leftNs(timeoutNs, beganNs);
            }
            try {
                return ClientRpc.this.call(known, priority, context, MemorySegment.ofArray(request), timeoutNs);
            } finally {
                known.exit();
            }
        }

        @Override
        public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
            Objects.requireNonNull(request, "request");
            Durations.requirePositive(deadline);
            commands.requireOpen();
            CallTarget known = opened;
            CompletableFuture<byte[]> started =
                    known == null || !known.enter() ? null : tryStart(known, request, deadline);
            return started != null ? started : callOnThread(request, deadline);
        }

        /** Starts a call that waits for a slot, or opens the function first. */
        private CompletableFuture<byte[]> callOnThread(byte[] request, Duration deadline) {
            long deadlineNs = System.nanoTime() + RpcCommandPath.toNanos(deadline);
            boolean waits = !callsOnThreads.tryAcquire();
            if (waits && !Deadline.awaitPermits(callsOnThreads, 1, deadlineNs)) {
                return CompletableFuture.failedFuture(new LiteTimeoutException(
                        "%s: not started within %s: the session had %d asynchronous calls that wait, its limit"
                                .formatted(target.what(), Durations.text(deadline), CALLS_ON_THREADS_MAX)));
            }
            boolean started = false;
            try {
                Duration left = waits ? Duration.ofNanos(Math.max(1, deadlineNs - System.nanoTime())) : deadline;
                CompletableFuture<byte[]> future = startOnThread(request.clone(), left);
                started = true;
                return future;
            } finally {
                if (!started) { // no memory for a thread
                    callsOnThreads.release();
                }
            }
        }

        private CompletableFuture<byte[]> startOnThread(byte[] copy, Duration deadline) {
            CompletableFuture<byte[]> future = new CompletableFuture<>();
            VIRTUAL.execute(() -> {
                byte[] reply;
                try {
                    reply = call(copy, deadline);
                } catch (RuntimeException | Error failure) { // itself, as of a call that needs no thread
                    callsOnThreads.release();
                    future.completeExceptionally(failure);
                    return;
                }
                callsOnThreads.release(); // first: a dependent stage may start the next call
                future.complete(reply);
            });
            return future;
        }

        /** The end of a call that starts exits. */
        private @Nullable CompletableFuture<byte[]> tryStart(CallTarget known, byte[] request, Duration deadline) {
            CompletableFuture<byte[]> started = null;
            try {
                started = ClientRpc.this.tryStart(known, priority, context, request, deadline);
                return started;
            } catch (LimitExceededException e) {
                return CompletableFuture.failedFuture(e);
            } finally {
                if (started == null) {
                    known.exit();
                }
            }
        }
    }
}
