package dev.lite.tier.session;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.tier.TierSession;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls and messages of an attached application: its open functions and ports, its received calls, and its commands about them. A
 * command runs on a virtual thread of its own, because it may block; a slot holds one command at a time, which bounds their number.
 * Any thread.
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
    private static final long PAUSE_NS = 100_000;
    private static final long DEADLINE_NS_MAX = TimeUnit.DAYS.toNanos(3650);

    private final String session;
    private final TierSession tier;
    private final Map<Long, Opened> opened = new ConcurrentHashMap<>();
    private final AtomicInteger openedCount = new AtomicInteger();
    private final Map<Long, RpcCall> calls = new ConcurrentHashMap<>();
    private final AtomicLong lastNumber = new AtomicLong();
    private final Map<Caller, Long> originNumbers = new ConcurrentHashMap<>();
    private final Map<Long, Caller> origins = new ConcurrentHashMap<>();
    private final AtomicInteger running = new AtomicInteger();
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

    /** Starts a command. The session's thread. */
    void start(Command command, Slots slots) {
        running.incrementAndGet();
        Thread.ofVirtual().name("lite-session-call").start(() -> {
            Thread self = Thread.currentThread();
            threads.add(self);
            try {
                if (ended) {
                    slots.fail(command.slot(), LiteException.Code.SESSION_LOST, "the session ends");
                } else {
                    run(command, slots);
                }
            } finally {
                threads.remove(self);
                running.decrementAndGet();
            }
        });
    }

    private void run(Command command, Slots slots) {
        try {
            long result = execute(command, slots);
            slots.complete(command.slot(), 0, result);
        } catch (LiteException refused) {
            // The end of the session interrupts waiting commands, so that is the cause of their failure.
            LiteException.Code code = ended ? LiteException.Code.SESSION_LOST : refused.code();
            slots.fail(command.slot(), code, String.valueOf(refused.getMessage()));
        } catch (IllegalStateException | IllegalArgumentException refused) {
            slots.fail(command.slot(), LiteException.Code.RPC_FAILED, String.valueOf(refused.getMessage()));
        } catch (RuntimeException | Error broken) {
            LOG.error("{}: {} failed", session, Op.nameOf(command.op()), broken);
            slots.fail(
                    command.slot(),
                    LiteException.Code.RPC_FAILED,
                    "%s failed in the node: %s".formatted(Op.nameOf(command.op()), broken));
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
                byte[] text = message.toArray(ValueLayout.JAVA_BYTE);
                take(command.operand0()).fail(new String(text, StandardCharsets.UTF_8));
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
                call.fail("the request has %d bytes; the session of the application that serves it takes at most %d"
                        .formatted(call.request().byteSize(), slots.windowBytes()));
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
            if (!kept || ended) {
                failUnanswered(number);
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
            try {
                call.fail("the application that received the call ended or could not accept it");
            } catch (LiteException | IllegalStateException e) {
                LOG.debug("{}: a call could not be answered", session, e);
            }
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
