package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.os.waiting.StagedWait;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.protocol.Doorbell;
import dev.lite.session.protocol.SessionArea;
import dev.lite.tier.FairShares;
import dev.lite.tier.peer.PollRole;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The node's side of a session's {@link SessionArea}: a platform thread that fetches commands and {@linkplain
 * CommandExecution executes} them. If a command is slow, for example because a peer does not answer, the {@link
 * SessionWatch} starts another thread for the next commands; the first thread completes its command and ends. Each
 * thread serves a different slot, so there are at most as many threads as slots. The further threads of all sessions of
 * a principal are limited, too: without a place for one, the next commands wait until a slow one has ended. A session
 * without commands for a while {@linkplain RestingSessions rests}: it has no thread. This object owns the memory; the
 * last thread to end unmaps it.
 *
 * <p>A slot has one command at a time. Submitting a slot whose command is under way ends the session: otherwise an
 * application could start operations and threads without bound. Allocates nothing per command.
 */
final class SessionWorker {
    private static final Logger LOG = LoggerFactory.getLogger(SessionWorker.class);

    /** The end of the session wakes the thread. This bounds the wait if the application overwrote the doorbell. */
    private static final long BLOCK_NS_MAX = TimeUnit.SECONDS.toNanos(1);

    /** How long the end of the session waits for calls in flight after interrupting them. */
    private static final long CALLS_END_NS = TimeUnit.SECONDS.toNanos(8);

    /** Some milliseconds at most; most turns take less than a microsecond. */
    private static final int TURNS_WITHOUT_ROOM_MAX = 4096;

    private static final VarHandle FETCHED;

    static {
        try {
            FETCHED = MethodHandles.lookup().findVarHandle(SessionWorker.class, "fetched", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final String session;
    private final String threadName;
    private final SessionWatch watch;
    private final long restAfterNs;
    private final SharedMemory memory;
    private final SessionArea area;
    private final RpcCommands rpc;
    private final StagedWait wait;
    private final Consumer<String> violation;
    /** A place for each serving thread but one. */
    private final FairShares.Share furtherThreads;

    private final long base;
    private final Doorbell doorbell;
    private final AreaSlots slots;
    private final PostedTransfers transfers;
    private final CommandExecution commands;

    /** Threads that were replaced and still execute their last command; seldom any. Replaced with every change, under this. */
    private volatile Server[] replaced = {};

    /** The serving threads; may include ended ones. */
    @GuardedBy("this")
    private final List<Thread> threads = new ArrayList<>();

    /** Bits of fetched slots that are not served yet. A thread clears a slot's bit before it serves the slot. */
    @SuppressWarnings("unused") // through FETCHED
    private volatile long fetched;

    /** The thread that fetches commands. The others end after their current command. Written under this. */
    private volatile Server leader = new Server();

    @GuardedBy("this")
    private boolean callsEnded;

    @GuardedBy("this")
    private boolean unmapped;

    /** Threads that have not ended. */
    @GuardedBy("this")
    private int serving;

    /** Whether the session rests: no thread serves it, its doorbell is armed, and others watch that. */
    @GuardedBy("this")
    private boolean rests;

    // State at the watch's last check; used only by the watch's thread.
    private @Nullable Server seen;
    private long seenProgress;

    private volatile boolean stopping;

    /**
     * Takes over the memory.
     *
     * @param session the session's name in messages
     * @param threadName the name of its data threads
     * @param restAfterNs see {@link SessionServerConfig#restAfter}
     * @param lines limits the log lines about failed commands
     * @param transfersMax see {@link SessionBackend#transfersMax}
     * @param furtherThreads the places of the session's principal for more than one thread in a session
     * @param violation receives the reason why the session must end, on a data thread
     */
    SessionWorker(
            String session,
            String threadName,
            SessionWatch watch,
            SharedMemory memory,
            SessionArea area,
            HandleTable handles,
            RpcCommands rpc,
            SessionLocks locks,
            int spins,
            long restAfterNs,
            int transfersMax,
            RepeatedLines lines,
            FairShares.Share furtherThreads,
            Consumer<String> violation) {
        this.session = session;
        this.threadName = threadName;
        this.watch = watch;
        this.restAfterNs = restAfterNs;
        this.memory = memory;
        this.area = area;
        this.rpc = rpc;
        wait = new StagedWait(spins);
        this.violation = violation;
        this.furtherThreads = furtherThreads;
        base = memory.address();
        doorbell = new Doorbell(base);
        slots = new AreaSlots(session, base, area, watch, lines);
        transfers = new PostedTransfers(slots, transfersMax, this::unmapIfEnded);
        commands = new CommandExecution(area, base, handles, rpc, locks, slots, transfers);
    }

    /** Starts to serve. Once. */
    void start() {
        synchronized (this) {
            begin(leader);
        }
        watch.add(this);
    }

    @GuardedBy("this")
    private void begin(Server server) {
        Thread thread = Thread.ofPlatform().daemon().name(threadName).start(server);
        serving++; // after the start, which fails if the system has no thread left
        threads.removeIf(ended -> !ended.isAlive());
        threads.add(thread);
    }

    /** Ends the thread of a session that has had no command for a while, and lets others watch its doorbell. */
    private boolean rest(Server server) {
        if (System.nanoTime() - server.idleSinceNs < restAfterNs
                || !watch.resting().isPossible()) {
            return false;
        }
        synchronized (this) {
            // Alone: others may store slots for this thread, and have their places among the further threads.
            if (stopping || leader != server || serving > 1) {
                return false;
            }
            if (!doorbell.arm()
                    || fetched != 0
                    || transfers.hasDeferred()
                    || !watch.resting().add(this)) {
                doorbell.disarm();
                return false;
            }
            rests = true;
            serving = 0;
            return true;
        }
    }

    /** Whether the application has a command while the session rests. */
    boolean isRung() {
        return doorbell.isRung();
    }

    /** Makes a thread sleep on the doorbell while the session rests. */
    void addDoorbell(FutexWords words) {
        doorbell.addTo(words);
    }

    /**
     * A session that rests was rung: it gets a thread again. The thread that watches it.
     *
     * @param again watches it again if it gets no thread; then this throws
     */
    synchronized void serveAgain(Runnable again) {
        if (!rests) {
            return; // it ends
        }
        rests = false;
        Server next = new Server();
        leader = next;
        boolean begun = false;
        try {
            begin(next);
            begun = true;
        } finally {
            if (!begun) {
                rests = true;
                again.run();
            }
        }
    }

    /** A thread that serves. */
    private final class Server implements Runnable, CommandExecution.Executor {
        /** Odd while it executes a command. Written by its own thread, read by the watch. */
        private volatile long progress;

        /** The slot whose command may block this thread, or -1. Written by its own thread, before the slot is completed. */
        private volatile int blockingSlot = -1;

        /** True from blocking until the next command, and before the first one. Written by its own thread. */
        private volatile boolean idle = true;

        /** When it became idle, by {@link System#nanoTime}; confined to the thread. */
        private long idleSinceNs = System.nanoTime();

        /** Turns in which commands stayed deferred; confined to the thread. */
        private int turnsWithoutRoom;

        /** Whether its last wait ended with work; confined to the thread. */
        private boolean foundWork;

        /** The poll role while this thread holds it; confined to the thread. */
        private @Nullable PollRole role;

        private static final VarHandle PROGRESS;
        private static final VarHandle BLOCKING_SLOT;

        static {
            try {
                MethodHandles.Lookup lookup = MethodHandles.lookup();
                PROGRESS = lookup.findVarHandle(Server.class, "progress", long.class);
                BLOCKING_SLOT = lookup.findVarHandle(Server.class, "blockingSlot", int.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        @Override
        public void run() {
            boolean rested = false;
            try {
                rested = serveUntilReplaced();
            } catch (SessionViolation bad) {
                violation.accept(bad.getMessage());
                stopping = true;
            } catch (RuntimeException | Error broken) {
                Unrecoverable.report(broken);
                LOG.error("{}: its thread failed", session, broken);
                violation.accept("the node failed: " + broken);
                stopping = true;
            } finally {
                if (!rested) {
                    boolean unused = Thread.interrupted(); // its last command has ended
                    forgetReplaced(this);
                    end();
                }
            }
        }

        /** Returns whether the session rests now. */
        private boolean serveUntilReplaced() {
            try {
                while (!stopping && leads(this)) {
                    if (turn(this) == 0 && spinForWork(this) == 0) {
                        releaseRole();
                        if (serveDeferred(this, 0) == 0) {
                            block(this);
                            if (rest(this)) {
                                return true;
                            }
                        }
                    }
                }
                return false;
            } finally {
                releaseRole();
            }
        }

        /**
         * Takes the poll role if it is free, so that what a command of this session waits for wakes no other thread. The
         * thread never blocks while it holds the role, and polls in each turn.
         */
        @Override
        public void takeRole() {
            PollRole free = role == null ? rpc.pollRole() : null;
            if (free != null && free.takeOrAsk()) {
                role = free;
            }
        }

        @Override
        public void releaseRole() {
            PollRole held = role;
            if (held != null) {
                role = null;
                held.release();
            }
        }

        @Override
        public boolean holdsRole() {
            return role != null;
        }

        @Override
        public void blocking(int slot) {
            BLOCKING_SLOT.setRelease(this, slot);
        }

        @Override
        public void submitted() {
            if (leader != this) {
                doorbell.ring(); // replaced just before it deferred the command; its substitute may be blocked
            }
        }

        /** Called at the start and at the end of a command. */
        void step() {
            PROGRESS.setOpaque(this, progress + 1);
        }
    }

    /** A thread ends. What ends last, a thread or a transfer, unmaps the memory. */
    private void end() {
        if (stopping) {
            boolean ended = rpc.end(System.nanoTime() + CALLS_END_NS);
            synchronized (this) {
                callsEnded = ended;
            }
        }
        synchronized (this) {
            serving--;
            if (serving > 0) {
                furtherThreads.giveBack();
            }
        }
        unmapIfEnded();
    }

    private void unmapIfEnded() {
        if (!stopping) {
            return;
        }
        synchronized (this) {
            // Only serving threads start transfers.
            if (serving > 0 || transfers.isRunning() || unmapped) {
                return;
            }
            unmapped = true;
            if (callsEnded) {
                memory.close();
            } else {
                LOG.warn("{}: a call has not ended; the session's memory stays mapped", session);
            }
        }
    }

    /**
     * Replaces the fetching thread if it still executes the same command as at the last check. Runs on the watch's
     * thread.
     *
     * @return whether the session is busy, so the watch must check again
     */
    boolean checkProgress() {
        Server now = leader;
        long progress = now.progress;
        boolean stuck = now == seen && progress == seenProgress && (progress & 1) != 0;
        seen = now;
        seenProgress = progress;
        if (stuck) {
            replace(now);
        }
        return isBusy();
    }

    private synchronized void replace(Server stuck) {
        if (leader == stuck && !stopping && serving < area.slots() && furtherThreads.take()) {
            Server next = new Server();
            Server[] before = replaced;
            Server[] more = Arrays.copyOf(before, before.length + 1);
            more[more.length - 1] = stuck;
            replaced = more; // before the next thread can fetch
            leader = next;
            boolean begun = false;
            try {
                begin(next);
                begun = true;
            } finally {
                if (!begun) { // the next check tries again
                    leader = stuck;
                    replaced = before;
                    furtherThreads.giveBack();
                }
            }
        }
    }

    /** Whether a thread still fetches commands: it has no substitute, or the substitute could not be started, for lack of memory. */
    private boolean leads(Server server) {
        if (leader == server) {
            return true;
        }
        server.releaseRole(); // the lock may be held
        synchronized (this) { // until the substitute has started, or not
            return leader == server;
        }
    }

    private synchronized void forgetReplaced(Server ended) {
        replaced = Arrays.stream(replaced).filter(one -> one != ended).toArray(Server[]::new);
    }

    /** Whether the fetching thread has had a command since it last blocked. */
    boolean isBusy() {
        return !stopping && !leader.idle;
    }

    /** Makes the threads end after their current commands. Any thread; a second call does nothing. */
    void stop() {
        stopping = true;
        watch.remove(this);
        boolean threadless;
        synchronized (this) {
            threadless = rests;
            if (rests) {
                rests = false;
                watch.resting().remove(this);
                serving = 1; // this thread
            } else if (!unmapped) {
                doorbell.ring();
            }
        }
        if (threadless) {
            end();
        }
    }

    /** Waits until all threads have ended, after {@link #stop}. Returns false when one still runs at the deadline. */
    boolean awaitEnd(long deadlineNs) {
        List<Thread> all;
        synchronized (this) {
            all = List.copyOf(threads);
        }
        boolean interrupted = false;
        boolean ended = true;
        for (Thread thread : all) {
            while (ended && thread.isAlive()) {
                try {
                    ended = thread.join(Duration.ofNanos(Math.max(1, deadlineNs - System.nanoTime())));
                } catch (InterruptedException kept) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return ended;
    }

    /** The session ends: nobody needs its commands any more that wait alone. */
    void interruptAlone() {
        transfers.interruptAlone();
    }

    /**
     * Everything of the session was released: ends its operations that still wait, each with a thread. Their deadlines may be an hour
     * away, and the application may have a next session, and many.
     */
    void interrupt() {
        transfers.interruptAlone();
        List<Thread> all;
        synchronized (this) {
            all = List.copyOf(threads);
        }
        all.forEach(Thread::interrupt);
    }

    /** Tells the application how often its session lost locks. Any thread; does nothing after the end. */
    synchronized void announceLocksLost(int losses) {
        if (!unmapped) {
            RawMemory.putLongRelease(base + SessionArea.LOCKS_LOST, losses);
        }
    }

    /** What the application has asked for so far. Any thread. */
    Map<Kind, Count> operations() {
        return commands.operations();
    }

    /** Unmaps the memory of a worker that was never started. */
    synchronized void discard() {
        unmapped = true;
        memory.close();
    }

    /**
     * Ends some of the commands that wait without a thread and are over their deadline. The watch's thread.
     *
     * @return nanoseconds until the next such deadline; 0 if it has passed
     */
    long endOverdue(long nowNs) {
        return rpc.endOverdue(nowNs);
    }

    /** Executes what is submitted now, and polls the fabric if this thread holds the poll role. Returns what it found. */
    private int turn(Server server) {
        int done = serveDeferred(server, TURNS_WITHOUT_ROOM_MAX) + doWork(server);
        PollRole role = server.role;
        if (role == null) {
            return done;
        }
        int events = role.pollOnce();
        if (events < 0) {
            server.releaseRole();
        }
        return done + Math.max(0, events);
    }

    /** Executes deferred commands while there is room, and without it after some turns. */
    private int serveDeferred(Server server, int turnsWithoutRoomMax) {
        int done = 0;
        while (transfers.hasDeferred() && !stopping && leader == server) {
            boolean room = transfers.hasRoom();
            if (room) {
                server.turnsWithoutRoom = 0;
            } else if (++server.turnsWithoutRoom < turnsWithoutRoomMax) {
                return done;
            }
            int slot = transfers.takeDeferred();
            if (slot >= 0) {
                serveOne(server, slot, room, true);
                done++;
            }
        }
        server.turnsWithoutRoom = 0;
        return done;
    }

    private int spinForWork(Server server) {
        PollRole held = server.role;
        int left = wait.begin(held == null ? 1 : held.pollCost());
        if (held != null && server.foundWork) {
            // Others work on what this thread has just completed or sent, and may need this processor.
            left = StagedWait.yieldsOnly(left);
        }
        server.foundWork = false;
        while (left != 0 && !stopping) {
            if (rpc.isRunning() || transfers.isRunning()) {
                server.takeRole();
            }
            left = wait.pause(left);
            int done = turn(server);
            if (done > 0) {
                wait.hit(left);
                server.foundWork = true;
                return done;
            }
        }
        return 0;
    }

    private void block(Server server) {
        if (!server.idle) {
            server.idle = true;
            server.idleSinceNs = System.nanoTime();
        }
        // Arm first: a thread that sets fetched or stopping rings afterwards, so one of the two sees the other.
        if (doorbell.arm() && fetched == 0 && !transfers.hasDeferred() && !stopping) {
            doorbell.await(Math.min(BLOCK_NS_MAX, restAfterNs));
        }
        doorbell.disarm();
    }

    /**
     * Executes all commands that are submitted now, each slot once, so no slot waits for another slot's next command.
     * If a command is slow, this thread's substitute executes the remaining ones.
     */
    private int doWork(Server server) {
        int done = serveFetched(server);
        long bits = doorbell.fetch();
        if (bits == 0) {
            return done;
        }
        if ((bits & ~area.slotBits()) != 0) {
            throw new SessionViolation("slots 0x%x were submitted; there are %d slots".formatted(bits, area.slots()));
        }
        if ((bits & (bits - 1)) == 0) {
            serveNew(server, Long.numberOfTrailingZeros(bits));
            return done + 1;
        }
        long waiting = (long) FETCHED.getAndBitwiseOr(this, bits) & bits;
        if (waiting != 0) {
            throw commands.submittedTwice(Long.numberOfTrailingZeros(waiting));
        }
        done += serveFetched(server);
        if (leader != server) {
            doorbell.ring(); // replaced just before it stored the bits; its substitute may be blocked
        }
        return done;
    }

    private int serveFetched(Server server) {
        int done = 0;
        long bits;
        while ((bits = fetched) != 0 && !stopping && leader == server) {
            long bit = Long.lowestOneBit(bits);
            if (FETCHED.compareAndSet(this, bits, bits & ~bit)) {
                serveNew(server, Long.numberOfTrailingZeros(bit));
                done++;
            }
        }
        return done;
    }

    /** Executes a command that was just submitted. */
    private void serveNew(Server server, int slot) {
        if (transfers.isUnderWay(slot) || rpc.isUnderWay(slot) || isBlocking(slot)) {
            throw commands.submittedTwice(slot);
        }
        serveOne(server, slot, true, false);
    }

    private boolean isBlocking(int slot) {
        for (Server other : replaced) {
            if (other.blockingSlot == slot) {
                return true;
            }
        }
        return false;
    }

    private void serveOne(Server server, int slot, boolean mayDefer, boolean again) {
        if (server.idle) {
            server.idle = false; // before wake(): the watch sets its own flag, then checks idle
            watch.wake();
        }
        server.step();
        commands.execute(server, slot, mayDefer, again);
        server.step();
    }
}
