package dev.lite.tier.session;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.tier.TierSession;
import dev.lite.tier.rpc.PostedCall;
import dev.lite.tier.rpc.PostedReceive;
import dev.lite.tier.rpc.ReceivedCall;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls and messages of an attached application: its open functions and ports, its received calls, and its commands about them.
 * Any thread.
 *
 * <p>A slot holds one command at a time, which bounds their number. The session's thread starts a command and never blocks. A call
 * is posted, a receive is registered, and the thread that polls the fabric ends them; their deadlines are kept by {@link
 * SessionWatch}. A reply is posted at once. Only a command that has to wait for something else gets a virtual thread: for a binding,
 * a slot, room in a ring, a remote read, or a message of a port.
 *
 * <p>A command is {@linkplain #running counted} from its start until its slot is completed. Exactly one thread ends it: the one that
 * took its call out of the call's slot or its receiver out of the function's queue, or its own thread. Nobody touches the slots
 * for a command that is not counted. So the slots' memory may be unmapped once {@link #ended} is set and nothing is counted.
 *
 * <p>Numbers from the application are looked up in the tables of its own session only.
 */
final class RpcCommands {
    /** The limit of functions and ports that a session has open, to call and to serve. */
    static final int OPENED_MAX = 8192;

    /** The limit of calls that a session has received and not answered. */
    static final int CALLS_MAX = 8192;

    /** The limit of different callers whose names a session may query. */
    private static final int ORIGINS_MAX = 1 << 16;

    private static final Logger LOG = LoggerFactory.getLogger(RpcCommands.class);
    private static final String NOT_ACCEPTED = "the application that received the call ended or could not accept it";
    private static final long PAUSE_NS = 100_000;
    /** The pause before a command is looked at again that is over its deadline, but that another thread is about to end. */
    private static final long OVERDUE_NS = 1_000_000;

    private static final long DEADLINE_NS_MAX = TimeUnit.DAYS.toNanos(3650);

    private final String session;
    private final TierSession tier;
    private final Map<Long, Opened> opened = new ConcurrentHashMap<>();
    private final AtomicInteger openedCount = new AtomicInteger();
    private final Map<Long, RpcCall> calls = new ConcurrentHashMap<>();
    private final AtomicLong lastNumber = new AtomicLong();
    private final Map<Caller, Long> originNumbers = new ConcurrentHashMap<>();
    private final Map<Long, Caller> origins = new ConcurrentHashMap<>();
    /** Commands from their start until their slot is completed. */
    private final AtomicInteger running = new AtomicInteger();

    /** The command of each slot that has one. */
    private final AtomicReferenceArray<@Nullable Running> bySlot = new AtomicReferenceArray<>(SessionArea.SLOTS_MAX);

    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private volatile boolean ended;

    private record Caller(String node, String principal) {}

    /** A function or port that the application opened. */
    private sealed interface Opened {}

    private record OpenClient(RpcClient client) implements Opened {}

    private record OpenSender(String node, String port) implements Opened {}

    private record OpenServer(RpcServer server) implements Opened {}

    private record OpenPort(RpcMessages messages) implements Opened {}

    /** The session's slots. */
    interface Slots {
        /** The address of the slot's window. */
        long window(int slot);

        /** Bytes of a window. */
        int windowBytes();

        /** Completes the slot's command. */
        void complete(int slot, int status, long result);

        /** Completes it with an error. */
        void fail(int slot, LiteException.Code code, String text);

        /** Stores the number and the caller of the call that the command received; before the command is completed. */
        void received(int slot, long call, long origin);

        /** A command waits without a thread; {@link #endOverdue} must be called about then. */
        void waitsUntil(long deadlineNs);
    }

    /** A command, copied out of its slot. */
    record Command(int slot, int op, long id, long length, long operand0, long timeoutNs) {}

    RpcCommands(String session, TierSession tier) {
        this.session = session;
        this.tier = tier;
    }

    /** Opens a function or port; returns its number. A virtual thread. */
    long open(RpcKind kind, String node, String name) {
        if (openedCount.incrementAndGet() > OPENED_MAX) {
            openedCount.decrementAndGet();
            throw new LimitExceededException(
                    "the session has %d functions and ports open; that is the limit".formatted(OPENED_MAX));
        }
        boolean kept = false;
        try {
            Opened made = switch (kind) {
                case CLIENT -> new OpenClient(tier.rpc().bind(node, name));
                case SENDER -> new OpenSender(node, name);
                case SERVER -> new OpenServer(tier.rpc().serve(name));
                case PORT -> new OpenPort(tier.rpc().messages(name));
            };
            long number = lastNumber.incrementAndGet();
            opened.put(number, made);
            kept = true;
            return number;
        } finally {
            if (!kept) {
                openedCount.decrementAndGet();
            }
        }
    }

    /** Closes it; does nothing when it is not open. */
    void close(long number) {
        Opened found = opened.remove(number);
        if (found != null) {
            openedCount.decrementAndGet();
            close(found);
        }
    }

    private static void close(Opened found) {
        switch (found) {
            case OpenServer open -> open.server().close();
            case OpenPort open -> open.messages().close();
            case OpenClient open -> {
                // nothing to close
            }
            case OpenSender open -> {
                // nothing to close
            }
        }
    }

    /** The caller with this number. */
    RpcOriginIs origin(long requestId, long number) {
        Caller caller = origins.get(number);
        if (caller == null) {
            throw new RpcFailedException("there is no caller with number %d".formatted(number));
        }
        return new RpcOriginIs(requestId, caller.node(), caller.principal());
    }

    /**
     * Starts a command. The session's thread; never blocks.
     *
     * @return false if the slot's last command is still under way; LITE's client waits for its end
     */
    boolean start(Command command, Slots slots) {
        Running one = new Running(command, slots);
        running.incrementAndGet();
        if (!bySlot.compareAndSet(command.slot(), null, one)) {
            running.decrementAndGet();
            return false;
        }
        // After it was counted: either this thread sees the end of the session, or the end sees the command.
        if (ended) {
            one.failed(sessionEnds());
            return true;
        }
        boolean started;
        try {
            started = tryStart(one);
        } catch (RuntimeException refused) {
            one.failed(refused);
            return true;
        }
        if (!started) {
            later(() -> run(one));
        }
        return true;
    }

    /** Starts a command that needs no waiting thread; false: it needs one. */
    private boolean tryStart(Running one) {
        Command command = one.command;
        MemorySegment message = one.window().asSlice(0, command.length());
        Opened found = opened.get(command.id());
        return switch (command.op()) {
            case Op.CALL ->
                found instanceof OpenClient open
                        && open.client() instanceof PostedCall.Client client
                        && one.call(client, message);
            case Op.RECEIVE ->
                found instanceof OpenServer open
                        && open.server() instanceof PostedReceive.Server server
                        && one.receive(server);
            case Op.REPLY_AND_RECEIVE ->
                found instanceof OpenServer open
                        && open.server() instanceof PostedReceive.Server server
                        && tryAnswer(command.operand0(), call -> call.tryReply(message))
                        && one.receive(server);
            case Op.REPLY -> tryAnswer(command.operand0(), call -> call.tryReply(message)) && one.done(0);
            case Op.FAIL -> tryAnswer(command.operand0(), call -> call.tryFail(text(message))) && one.done(0);
            default -> false;
        };
    }

    private static String text(MemorySegment message) {
        return new String(message.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    /** Answers a call unless that has to wait; then the call is still unanswered. */
    private boolean tryAnswer(long number, Predicate<ReceivedCall> answer) {
        RpcCall call = take(number);
        boolean answered = false;
        try {
            answered = call instanceof ReceivedCall received && answer.test(received);
            return answered;
        } finally {
            if (!answered) {
                calls.put(number, call);
            }
        }
    }

    /** Runs a task that may block. The end of the session interrupts it. */
    private void later(Runnable task) {
        Thread.ofVirtual().name("lite-session-call").start(() -> {
            Thread self = Thread.currentThread();
            threads.add(self);
            try {
                task.run();
            } finally {
                threads.remove(self);
            }
        });
    }

    /** Executes a command that may have to wait. A thread of its own. */
    private void run(Running one) {
        if (ended) {
            one.failed(sessionEnds());
            return;
        }
        long result;
        try {
            result = execute(one.command, one.slots);
        } catch (RuntimeException refused) {
            one.failed(refused);
            return;
        } catch (Error broken) {
            one.failed(new IllegalStateException(broken));
            return;
        }
        boolean unused = one.done(result);
    }

    private static SessionLostException sessionEnds() {
        return new SessionLostException("the session ends");
    }

    /**
     * Ends the commands that wait without a thread and whose deadline has passed. Never blocks.
     *
     * @return nanoseconds until the next deadline of such a command; a large number if there is none
     */
    long endOverdue(long nowNs) {
        long nearestNs = Long.MAX_VALUE;
        for (int slot = 0; slot < bySlot.length(); slot++) {
            Running one = bySlot.get(slot);
            if (one == null || !one.waits()) {
                continue;
            }
            long leftNs = one.deadlineNs - nowNs;
            if (leftNs > 0) {
                nearestNs = Math.min(nearestNs, leftNs);
            } else if (one.giveUp()) {
                one.failed(one.late());
            } else {
                nearestNs = Math.min(nearestNs, OVERDUE_NS); // it is about to end
            }
        }
        return nearestNs;
    }

    /** A command that has started and not ended. */
    private final class Running {
        final Command command;
        final Slots slots;
        final long deadlineNs;
        private volatile @Nullable PostedCall call;
        private volatile @Nullable PostedReceive receive;

        Running(Command command, Slots slots) {
            this.command = command;
            this.slots = slots;
            deadlineNs = System.nanoTime() + command.timeoutNs();
        }

        MemorySegment window() {
            return RawMemory.all().asSlice(slots.window(command.slot()), slots.windowBytes());
        }

        /** Posts a call; false: it would have to wait. */
        boolean call(PostedCall.Client client, MemorySegment request) {
            int capacity = (int) Math.clamp(command.operand0(), 0, slots.windowBytes());
            PostedCall its = new Call(capacity);
            call = its;
            boolean posted = client.tryCall(request, capacity, command.timeoutNs(), its);
            if (posted) {
                slots.waitsUntil(deadlineNs);
            } else {
                call = null;
            }
            return posted;
        }

        boolean receive(PostedReceive.Server server) {
            PostedReceive its = new Receive();
            receive = its;
            server.receive(its);
            slots.waitsUntil(deadlineNs);
            return true;
        }

        /** Whether it waits, or has waited, without a thread. */
        boolean waits() {
            return call != null || receive != null;
        }

        /** Ends the wait; then this thread ends the command. False: another thread does. */
        boolean giveUp() {
            PostedCall itsCall = call;
            PostedReceive itsReceive = receive;
            return (itsCall != null && itsCall.abandon()) || (itsReceive != null && itsReceive.giveUp());
        }

        RuntimeException late() {
            Duration deadline = deadline(command);
            return new LiteTimeoutException(
                    call != null
                            ? "%s: not done within its deadline of %s: no reply".formatted(call, deadline)
                            : "no call of the function came within %s".formatted(deadline));
        }

        /** Completes the slot; the command has ended. */
        boolean done(long result) {
            bySlot.set(command.slot(), null); // before the application may submit the slot again
            slots.complete(command.slot(), 0, result);
            running.decrementAndGet();
            return true;
        }

        /** Completes the slot with an error; the command has ended. */
        void failed(RuntimeException why) {
            bySlot.set(command.slot(), null);
            String text = String.valueOf(why.getMessage());
            LiteException.Code code = LiteException.Code.RPC_FAILED;
            if (why instanceof LiteException refused) {
                // The end of the session interrupts waiting commands, so that is the cause of their failure.
                code = ended ? LiteException.Code.SESSION_LOST : refused.code();
            } else if (!(why instanceof IllegalStateException || why instanceof IllegalArgumentException)
                    || why.getCause() instanceof Error) {
                LOG.error("{}: {} failed", session, Op.nameOf(command.op()), why);
                text = "%s failed in the node: %s".formatted(Op.nameOf(command.op()), why);
            }
            slots.fail(command.slot(), code, text);
            running.decrementAndGet();
        }

        private final class Call extends PostedCall {
            private final int capacity;

            Call(int capacity) {
                this.capacity = capacity;
            }

            @Override
            protected MemorySegment destination() {
                return window().asSlice(0, capacity);
            }

            @Override
            protected void replied(int length) {
                boolean unused = done(length);
            }

            @Override
            protected void failed(RuntimeException why) {
                Running.this.failed(why);
            }

            @Override
            protected void later(Runnable task) {
                RpcCommands.this.later(task);
            }
        }

        private final class Receive extends PostedReceive {
            @Override
            protected boolean received(ReceivedCall received) {
                if (received.requestBytes().length > slots.windowBytes()) {
                    failSoon(received, tooLong(received, slots));
                    return false;
                }
                long length;
                try {
                    length = RpcCommands.this.received(command, received, slots);
                } catch (RuntimeException refused) {
                    Running.this.failed(refused);
                    return true;
                }
                return done(length);
            }

            @Override
            protected void failed(RuntimeException why) {
                Running.this.failed(why);
            }

            @Override
            protected void later(Runnable task) {
                RpcCommands.this.later(task);
            }
        }
    }

    private static String tooLong(RpcCall call, Slots slots) {
        return "the request has %d bytes; the session of the application that serves it takes at most %d"
                .formatted(call.request().byteSize(), slots.windowBytes());
    }

    /** Fails a call without blocking. */
    private void failSoon(RpcCall call, String message) {
        boolean failed = false;
        try {
            failed = call instanceof ReceivedCall received && received.tryFail(message);
        } catch (IllegalStateException answered) {
            return;
        }
        if (!failed) {
            later(() -> fail(call, message));
        }
    }

    private void fail(RpcCall call, String message) {
        try {
            call.fail(message);
        } catch (LiteException | IllegalStateException e) {
            LOG.debug("{}: a call could not be answered", session, e);
        }
    }

    private long execute(Command command, Slots slots) {
        MemorySegment window = RawMemory.all().asSlice(slots.window(command.slot()), slots.windowBytes());
        MemorySegment message = window.asSlice(0, command.length());
        return switch (command.op()) {
            case Op.CALL -> call(command, message, window);
            case Op.RECEIVE -> receive(command, slots);
            case Op.REPLY -> {
                reply(command.operand0(), message);
                yield 0;
            }
            case Op.REPLY_AND_RECEIVE -> {
                reply(command.operand0(), message);
                yield receive(command, slots);
            }
            case Op.FAIL -> {
                take(command.operand0()).fail(text(message));
                yield 0;
            }
            default -> throw new IllegalArgumentException("not a command of calls: " + command.op());
        };
    }

    private long call(Command command, MemorySegment request, MemorySegment window) {
        Opened found = opened.get(command.id());
        if (found instanceof OpenClient open) {
            long capacity = Math.clamp(command.operand0(), 0, window.byteSize());
            return open.client().call(request, window.asSlice(0, capacity), deadline(command));
        }
        if (found instanceof OpenSender open) {
            tier.rpc().send(open.node(), open.port(), request, deadline(command));
            return 0;
        }
        throw notOpen(command, "function to call or port to send to");
    }

    private long receive(Command command, Slots slots) {
        Opened found = opened.get(command.id());
        if (found instanceof OpenServer open) {
            Deadline deadline = Deadline.in(deadline(command));
            RpcCall call = open.server().receive(deadline.remaining());
            while (call.request().byteSize() > slots.windowBytes()) {
                // Only its caller can shorten it. The application receives the next call.
                call.fail(tooLong(call, slots));
                call = open.server().receive(deadline.remaining());
            }
            return received(command, call, slots);
        }
        if (found instanceof OpenPort open) {
            RpcMessages.Message message = open.messages().receive(deadline(command));
            Caller caller = new Caller(message.senderNode(), message.senderPrincipal());
            return put(command, slots, 0, caller, MemorySegment.ofArray(message.data()));
        }
        throw notOpen(command, "function or port to receive from");
    }

    private long received(Command command, RpcCall call, Slots slots) {
        long number = lastNumber.incrementAndGet();
        boolean kept = false;
        try {
            if (calls.size() >= CALLS_MAX) {
                throw new LimitExceededException(
                        "the session has %d calls received and not answered; that is the limit".formatted(CALLS_MAX));
            }
            calls.put(number, call);
            long length =
                    put(command, slots, number, new Caller(call.callerNode(), call.callerPrincipal()), call.request());
            kept = true;
            return length;
        } finally {
            RpcCall unanswered = !kept || ended ? calls.remove(number) : null;
            if (unanswered != null) {
                failSoon(unanswered, NOT_ACCEPTED);
            }
        }
    }

    private long put(Command command, Slots slots, long number, Caller caller, MemorySegment message) {
        if (message.byteSize() > slots.windowBytes()) {
            throw new LimitExceededException("the request has %d bytes; the session's windows have %d"
                    .formatted(message.byteSize(), slots.windowBytes()));
        }
        RawMemory.copyFrom(message, 0, slots.window(command.slot()), message.byteSize());
        slots.received(command.slot(), number, originOf(caller));
        return message.byteSize();
    }

    private long originOf(Caller caller) {
        Long known = originNumbers.get(caller);
        if (known != null) {
            return known;
        }
        if (origins.size() >= ORIGINS_MAX) {
            throw new LimitExceededException(
                    "the session has received calls of %d callers; that is the limit".formatted(ORIGINS_MAX));
        }
        return originNumbers.computeIfAbsent(caller, fresh -> {
            long number = lastNumber.incrementAndGet();
            origins.put(number, fresh);
            return number;
        });
    }

    private void reply(long number, MemorySegment reply) {
        RpcCall call = take(number);
        boolean refused = true;
        try {
            call.reply(reply);
            refused = false;
        } finally {
            if (refused) {
                calls.put(number, call); // too long: the call is still unanswered
            }
        }
    }

    private RpcCall take(long number) {
        RpcCall call = calls.remove(number);
        if (call == null) {
            throw new IllegalStateException("there is no unanswered call with number %d".formatted(number));
        }
        return call;
    }

    private SessionLostException notOpen(Command command, String what) {
        return new SessionLostException("no %s has the number %d; it was closed".formatted(what, command.id()));
    }

    private static Duration deadline(Command command) {
        return Duration.ofNanos(Math.clamp(command.timeoutNs(), 0, DEADLINE_NS_MAX));
    }

    private void failUnanswered(long number) {
        @Nullable RpcCall call = calls.remove(number);
        if (call != null) {
            fail(call, NOT_ACCEPTED);
        }
    }

    /**
     * Ends servers, ports, commands under way and unanswered calls.
     *
     * @return whether all commands have ended by the deadline; otherwise the slots' memory must stay mapped
     */
    boolean end(long deadlineNs) {
        ended = true;
        opened.values().forEach(RpcCommands::close);
        opened.clear();
        calls.keySet().forEach(this::failUnanswered);
        while (running.get() > 0) {
            for (int slot = 0; slot < bySlot.length(); slot++) {
                Running one = bySlot.get(slot);
                if (one != null && one.giveUp()) {
                    one.failed(sessionEnds());
                }
            }
            if (deadlineNs - System.nanoTime() <= 0) {
                return false;
            }
            threads.forEach(Thread::interrupt);
            Polling.sleepNs(PAUSE_NS);
        }
        calls.keySet().forEach(this::failUnanswered);
        return true;
    }
}
