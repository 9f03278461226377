package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.os.waiting.TaskStart;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.protocol.FurtherCalls;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.tier.FairShares;
import dev.lite.tier.TierSession;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.rpc.PostedCall;
import dev.lite.tier.rpc.PostedReceive;
import dev.lite.tier.rpc.ReceivedCall;
import dev.lite.tier.rpc.SessionRpc;
import dev.lite.tier.rpc.UnsentReplies;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
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
    private static final Logger LOG = LoggerFactory.getLogger(RpcCommands.class);
    private static final long PAUSE_NS = 100_000;
    /** The pause before a command is looked at again that is over its deadline, but that another thread is about to end. */
    private static final long OVERDUE_NS = 1_000_000;

    /** A sweep ends at most so many overdue commands of a session: those of other sessions wait for it. */
    private static final int ENDED_AT_ONCE_MAX = 4;

    private static final long DEADLINE_NS_MAX = TimeUnit.DAYS.toNanos(3650);

    /** Of the node's threads that wait for locks, at most so many work for one session. */
    private static final int LOCK_THREADS_MAX = 8;

    private final String session;
    private final TierSession tier;
    private final SessionLocks locks;
    private final Executor lockWaits;
    private final RepeatedLines lines;
    private final OpenedFunctions opened;
    private final ReceivedCalls received;
    /** Commands from their start until their slot is completed. */
    private final AtomicInteger running = new AtomicInteger();

    /** Those of them that wait for a lock. */
    private final AtomicInteger waitingForLocks = new AtomicInteger();

    /** The command of each slot that has one. */
    private final AtomicReferenceArray<@Nullable RunningCommand> bySlot =
            new AtomicReferenceArray<>(SessionArea.SLOTS_MAX);

    /** Where the next sweep begins: commands in the first slots must not delay the others. Of the sweeps. */
    private int sweepFrom;

    /** The numbers of the functions that the application serves through channels, too. */
    private final Set<Long> withChannels = ConcurrentHashMap.newKeySet();

    /** The threads that the end of the session interrupts. */
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

    /** Held while they are interrupted. */
    private final Object interrupting = new Object();

    private volatile boolean ended;

    /** The session's slots. */
    interface Slots {
        /** The address of the slot's window. */
        long window(int slot);

        /** Bytes of a window. */
        int windowBytes();

        /** Completes the slot's command. */
        void complete(int slot, int status, long result);

        /** Completes it with an error. */
        void fail(int slot, LiteException error);

        /**
         * Stores the number, the caller, the length of the context and the longest reply of the call that the command received; before
         * the command is completed.
         */
        void received(int slot, long call, long origin, int contextBytes, int replyBytesMax);

        /** Stores how many further calls the command received; likewise, and after the first one. */
        void received(int slot, int further);

        /** A command waits without a thread; {@link #endOverdue} must be called about then. */
        void waitsUntil(long deadlineNs);
    }

    /**
     * A command, copied out of its slot.
     *
     * @param soon whether the session's thread will look at further commands and then poll, or release the poll role
     */
    record Command(
            int slot,
            int op,
            long id,
            long offset,
            long length,
            long operand0,
            long operand1,
            long timeoutNs,
            boolean soon) {
        /** Of a call: how many of its first bytes are its context. */
        int contextBytes() {
            if (operand1 < 0 || operand1 > Math.min(length, LtRpc.CONTEXT_BYTES_MAX)) {
                throw new IllegalArgumentException("a call of %d bytes has a context of %d; the limit is %d of them"
                        .formatted(length, operand1, LtRpc.CONTEXT_BYTES_MAX));
            }
            return (int) operand1;
        }

        /** Whether a call has low priority. */
        boolean isLow() {
            return (id & SessionProtocol.LOW_PRIORITY) != 0;
        }

        Duration deadline() {
            return Duration.ofNanos(Math.clamp(timeoutNs, 0, DEADLINE_NS_MAX));
        }

        /** Of a receive: how many further calls it takes at most. */
        int furtherMax() {
            return Math.clamp(offset, 0, FurtherCalls.MAX);
        }

        /** Why a call fails. */
        RpcStatus failure() {
            return offset == Op.NOT_TAKEN ? RpcStatus.NOT_SERVED : RpcStatus.HANDLER_FAILED;
        }

        /** Whether the application wants to know if an answer cannot be sent; the call is still unanswered then. */
        boolean isWatched() {
            return op != Op.REPLY_AND_RECEIVE && (operand1 & Op.UNWATCHED) == 0;
        }

        boolean isBesideChannels() {
            return operand1 == Op.BESIDE_CHANNELS;
        }
    }

    /**
     * @param lines limits the log lines about failed commands
     * @param receivedCalls the places of the session's principal for parts of received calls
     */
    RpcCommands(
            String session,
            TierSession tier,
            SessionLocks locks,
            Executor lockWaits,
            RepeatedLines lines,
            FairShares.Share receivedCalls) {
        this.session = session;
        this.lines = lines;
        this.tier = tier;
        this.locks = locks;
        this.lockWaits = lockWaits;
        AtomicLong lastNumber = new AtomicLong();
        opened = new OpenedFunctions(tier::rpc, lastNumber);
        received = new ReceivedCalls(session, lastNumber, receivedCalls, RpcCommands::failLater);
    }

    /** The functions and ports that the application has opened. */
    OpenedFunctions opened() {
        return opened;
    }

    /** The calls that the session has received. */
    ReceivedCalls received() {
        return received;
    }

    /**
     * Starts a command. The session's thread; never blocks.
     *
     * @return false if the slot's last command is still under way; LITE's client waits for its end
     */
    boolean start(Command command, Slots slots) {
        RunningCommand one = new RunningCommand(this, command, slots);
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
        try {
            if (!tryStart(one)) {
                if (command.op() == Op.LOCK) {
                    waitForLock(one);
                } else {
                    later(() -> run(one));
                }
            }
        } catch (RuntimeException refused) {
            one.failed(refused);
        } catch (Error broken) { // for example no memory for a thread: only this command fails
            Unrecoverable.report(broken);
            if (!one.waits() || one.giveUp()) {
                one.broken(broken);
            }
        }
        return true;
    }

    /** Lets a platform thread wait, which the release wakes directly; a virtual thread if there are too many waits. */
    private void waitForLock(RunningCommand one) {
        boolean waits = false;
        boolean mayTakeThread = waitingForLocks.incrementAndGet() <= LOCK_THREADS_MAX;
        try {
            if (!mayTakeThread || !tryWaitForLock(one)) {
                later(() -> runWait(one));
            }
            waits = true;
        } finally {
            if (!waits) { // no memory for a thread
                waitingForLocks.decrementAndGet();
            }
        }
    }

    private boolean tryWaitForLock(RunningCommand one) {
        try {
            lockWaits.execute(() -> waitOnSharedThread(one));
            return true;
        } catch (RejectedExecutionException tooMany) {
            LOG.debug("{}: all threads that wait for locks are taken", session, tooMany);
            return false;
        }
    }

    /** The end of the session interrupts the wait, but not what the thread does afterwards, maybe for another session. */
    private void waitOnSharedThread(RunningCommand one) {
        Thread self = Thread.currentThread();
        threads.add(self);
        try {
            runWait(one);
        } finally {
            synchronized (interrupting) {
                threads.remove(self);
                boolean unused = Thread.interrupted();
            }
        }
    }

    private void runWait(RunningCommand one) {
        try {
            run(one);
        } finally {
            waitingForLocks.decrementAndGet();
        }
    }

    /** Whether the slot's last command is under way. */
    boolean isUnderWay(int slot) {
        return bySlot.get(slot) != null;
    }

    /** Whether commands are under way that the fabric may end. */
    boolean isRunning() {
        return running.get() > waitingForLocks.get();
    }

    /** The poll role to take for commands that wait for the fabric, or null. */
    @Nullable
    PollRole pollRole() {
        return tier.rpc() instanceof SessionRpc rpc ? rpc.pollRole() : null;
    }

    /** Starts a command that needs no waiting thread; false: it needs one. */
    private boolean tryStart(RunningCommand one) {
        Command command = one.command;
        MemorySegment message = one.window().asSlice(0, command.length());
        OpenedFunctions.Opened found = opened.find(command.id());
        return switch (command.op()) {
            case Op.CALL ->
                found instanceof OpenedFunctions.OpenClient open
                        && client(open, command, message) instanceof PostedCall.Client client
                        && one.call(client, message.asSlice(command.contextBytes()));
            case Op.RECEIVE ->
                found instanceof OpenedFunctions.OpenServer open
                        && open.server() instanceof PostedReceive.Server server
                        && one.receive(server);
            case Op.REPLY_AND_RECEIVE ->
                found instanceof OpenedFunctions.OpenServer open
                        && open.server() instanceof PostedReceive.Server server
                        && tryReply(command, message)
                        && one.receive(server);
            case Op.REPLY -> tryReply(command, message) && one.done(0);
            case Op.FAIL -> tryAnswer(command, message, call -> tryFail(call, command, message)) && one.done(0);
            default -> false;
        };
    }

    /** The client of a call, which sends the call's context. */
    private static RpcClient client(OpenedFunctions.OpenClient open, Command command, MemorySegment message) {
        int contextBytes = command.contextBytes();
        RpcClient client = command.isLow() ? open.low() : open.client();
        return contextBytes == 0 ? client : client.withContext(text(message.asSlice(0, contextBytes)));
    }

    private boolean tryReply(Command command, MemorySegment message) {
        return tryAnswer(command, message, call -> call.tryReply(message, command.soon()));
    }

    private boolean tryAnswer(Command command, MemorySegment message, Predicate<ReceivedCall> answer) {
        try {
            return received.tryAnswer(command.operand0(), answer);
        } catch (LiteException | Error why) {
            if (command.isWatched()) {
                throw why;
            }
            notSent(command, message, why);
            return true;
        }
    }

    private void reply(Command command, MemorySegment message) {
        try {
            received.reply(command.operand0(), message);
        } catch (LiteException | Error why) {
            if (command.isWatched()) {
                throw why;
            }
            notSent(command, message, why);
        }
    }

    private void fail(Command command, MemorySegment message) {
        try {
            received.fail(command.operand0(), command.failure(), (int) command.operand1(), text(message));
        } catch (LiteException | Error why) {
            if (command.isWatched()) {
                throw why;
            }
            notSent(command, message, why);
        }
    }

    /** An answer could not be sent, and the application does not learn it. So its call fails. */
    private void notSent(Command command, MemorySegment message, Throwable why) {
        Unrecoverable.report(why);
        String suffix = lines.suffix("not sent");
        if (suffix != null) {
            LOG.warn(
                    "{}: an answer of {} bytes was not sent; its call fails{}",
                    session,
                    message.byteSize(),
                    suffix,
                    why);
        }
        received.failUnsent(command.operand0(), UnsentReplies.text(why));
    }

    private static boolean tryFail(ReceivedCall call, Command command, MemorySegment message) {
        return call.tryFail(command.failure(), (int) command.operand1(), text(message));
    }

    private static String text(MemorySegment message) {
        return new String(message.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    /** Runs a task that fails calls, which the end of the session does not interrupt. */
    private static void failLater(Runnable task) {
        TaskStart.virtual("lite-session-end", task);
    }

    /** Runs a task that may block. The end of the session interrupts it. */
    void later(Runnable task) {
        TaskStart.virtual("lite-session-call", () -> {
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
    private void run(RunningCommand one) {
        if (ended) {
            one.failed(sessionEnds());
            return;
        }
        long result;
        try {
            if (replyThenReceive(one)) {
                return;
            }
            result = execute(one.command, one.slots);
        } catch (RuntimeException refused) {
            one.failed(refused);
            return;
        } catch (Error broken) {
            Unrecoverable.report(broken);
            one.broken(broken);
            return;
        }
        boolean unused = one.done(result);
    }

    /** Waits only for the reply: a thread that received would not notice a channel. False: nothing was done. */
    private boolean replyThenReceive(RunningCommand one) {
        Command command = one.command;
        if (command.op() == Op.REPLY_AND_RECEIVE
                && opened.find(command.id()) instanceof OpenedFunctions.OpenServer open
                && open.server() instanceof PostedReceive.Server server) {
            reply(command, one.window().asSlice(0, command.length()));
            return one.receive(server);
        }
        return false;
    }

    private static SessionLostException sessionEnds() {
        return new SessionLostException("the session ends");
    }

    /**
     * The application serves a function through channels, too, or does no longer. Ends the receives that do not know it, as if their
     * time had passed; later ones end at once. Ends only receives that it takes out of the function's queue, so no call is lost. Never
     * blocks.
     *
     * @param server the function's number
     */
    void channels(long server, boolean any) {
        boolean unused = any ? withChannels.add(server) : withChannels.remove(server);
        for (int slot = 0; slot < bySlot.length(); slot++) {
            RunningCommand one = bySlot.get(slot);
            if (one != null && one.isReceiveOf(server)) {
                one.endIfChannelsChanged();
            }
        }
    }

    /**
     * Ends commands that wait without a thread and whose deadline has passed, at most {@value
     * #ENDED_AT_ONCE_MAX}. Never blocks. One thread at a time.
     *
     * @return nanoseconds until the next deadline of such a command; 0 if more have passed; a large number if
     *     there is none
     */
    long endOverdue(long nowNs) {
        long nearestNs = Long.MAX_VALUE;
        int ended = 0;
        int first = sweepFrom;
        for (int i = 0; i < bySlot.length(); i++) {
            int slot = (first + i) % bySlot.length();
            RunningCommand one = bySlot.get(slot);
            if (one == null || !one.waits()) {
                continue;
            }
            long leftNs = one.deadlineNs - nowNs;
            if (leftNs > 0) {
                nearestNs = Math.min(nearestNs, leftNs);
            } else if (ended == ENDED_AT_ONCE_MAX) {
                sweepFrom = slot;
                return 0;
            } else if (one.giveUp()) {
                one.failed(one.late());
                ended++;
            } else {
                nearestNs = Math.min(nearestNs, OVERDUE_NS); // it is about to end
            }
        }
        return nearestNs;
    }

    /** Whether the application serves the function through channels, too. */
    boolean hasChannels(long server) {
        return withChannels.contains(server);
    }

    /** The command is about to complete its slot, which the application may then submit again. */
    void ends(RunningCommand one) {
        bySlot.set(one.command.slot(), null);
    }

    /** The command has completed its slot. */
    void ended(RunningCommand one) {
        running.decrementAndGet();
    }

    /** What a command that ends by an exception tells the application. Logs a failure of the node itself. */
    LiteException error(Command command, RuntimeException why) {
        if (why instanceof LiteException refused) {
            // The end of the session interrupts waiting commands, so that is the cause of their failure.
            return ended ? new SessionLostException(String.valueOf(why.getMessage())) : refused;
        }
        if (!(why instanceof IllegalStateException || why instanceof IllegalArgumentException)
                || why.getCause() instanceof Error) {
            String suffix = lines.suffix("failed");
            if (suffix != null) {
                LOG.error("{}: {} failed{}", session, Op.nameOf(command.op()), suffix, why);
            }
            return new RpcFailedException(
                    RpcStatus.UNKNOWN, "%s failed in the node: %s".formatted(Op.nameOf(command.op()), why));
        }
        return new RpcFailedException(RpcStatus.REFUSED, String.valueOf(why.getMessage()));
    }

    private static long messageBytes(RpcCall call) {
        return call instanceof ReceivedCall its
                ? its.message().length
                : call.request().byteSize();
    }

    static String tooLong(RpcCall call, Slots slots) {
        return "the request has %d bytes%s; the session of the application that serves it takes at most %d"
                .formatted(
                        call.request().byteSize(),
                        call instanceof ReceivedCall its && its.contextBytes() > 0
                                ? " and a context of %d".formatted(its.contextBytes())
                                : "",
                        slots.windowBytes());
    }

    private long execute(Command command, Slots slots) {
        MemorySegment window = RawMemory.all().asSlice(slots.window(command.slot()), slots.windowBytes());
        MemorySegment message = window.asSlice(0, command.length());
        return switch (command.op()) {
            case Op.CALL -> call(command, message, window);
            case Op.RECEIVE -> receive(command, slots);
            case Op.REPLY -> {
                reply(command, message);
                yield 0;
            }
            case Op.REPLY_AND_RECEIVE -> {
                reply(command, message);
                yield receive(command, slots);
            }
            case Op.FAIL -> {
                fail(command, message);
                yield 0;
            }
            case Op.LOCK -> locks.acquire(command.id(), command.operand0(), command.deadline());
            default -> throw new IllegalArgumentException("not a command of calls: " + command.op());
        };
    }

    private long call(Command command, MemorySegment request, MemorySegment window) {
        OpenedFunctions.Opened found = opened.find(command.id());
        if (found instanceof OpenedFunctions.OpenClient open) {
            long capacity = Math.clamp(command.operand0(), 0, window.byteSize());
            return client(open, command, request)
                    .call(request.asSlice(command.contextBytes()), window.asSlice(0, capacity), command.deadline());
        }
        if (found instanceof OpenedFunctions.OpenSender open) {
            tier.rpc().send(open.node(), open.port(), request, command.deadline());
            return 0;
        }
        throw notOpen(command, "function to call or port to send to");
    }

    private long receive(Command command, Slots slots) {
        OpenedFunctions.Opened found = opened.find(command.id());
        if (found instanceof OpenedFunctions.OpenServer open) {
            Deadline deadline = Deadline.in(command.deadline());
            RpcCall call = open.server().receive(deadline.remaining());
            while (messageBytes(call) > slots.windowBytes()) {
                // Only its caller can shorten it. The application receives the next call.
                ReceivedCalls.fail(call, RpcStatus.REFUSED, 0, tooLong(call, slots));
                call = open.server().receive(deadline.remaining());
            }
            return received.put(call, slots, command.slot());
        }
        if (found instanceof OpenedFunctions.OpenPort open) {
            RpcMessages.Message message = open.messages().receive(command.deadline());
            return received.put(message, slots, command.slot());
        }
        throw notOpen(command, "function or port to receive from");
    }

    private SessionLostException notOpen(Command command, String what) {
        return new SessionLostException("no %s has the number %d; it was closed".formatted(what, command.id()));
    }

    /**
     * Ends servers, ports, commands under way and unanswered calls.
     *
     * @return whether all commands have ended by the deadline; otherwise the slots' memory must stay mapped
     */
    boolean end(long deadlineNs) {
        ended = true;
        opened.closeAll();
        received.end();
        tier.sync().endWaits();
        while (running.get() > 0) {
            for (int slot = 0; slot < bySlot.length(); slot++) {
                RunningCommand one = bySlot.get(slot);
                if (one != null && one.giveUp()) {
                    one.failed(sessionEnds());
                }
            }
            if (deadlineNs - System.nanoTime() <= 0) {
                received.end();
                return false;
            }
            synchronized (interrupting) {
                threads.forEach(Thread::interrupt);
            }
            Polling.sleepNs(PAUSE_NS);
        }
        received.end();
        return true;
    }
}
