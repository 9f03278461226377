package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.session.protocol.SpinBudget;
import dev.lite.tier.TierHandle;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The node's side of a session's {@link SessionArea}: a platform thread that takes commands, carries them out between the
 * LMR and the slot's window, and completes them. When a command takes long, because a peer does not answer, say, the {@link SessionWatch}
 * has another thread go on with those that come after it; the first one completes its command and ends. Each of them has a
 * slot, so there are at most as many threads as slots. The last one to end unmaps the memory, which this object owns.
 *
 * <p>The application may write anything into the area at any time. Each word of a command is therefore read once, into a
 * local variable, and checked there; a window only ever holds data. A command that no client of ours can have made ends
 * the session; one that is merely refused (bounds, permission, stale handle) is completed with its error.
 *
 * <p>Nothing is allocated per command unless it fails, or is one of {@link RpcCommands}.
 */
final class SessionWorker implements RpcCommands.Slots {
    private static final Logger LOG = LoggerFactory.getLogger(SessionWorker.class);

    /** The end of the session wakes the thread; this is for an application that overwrote that very word. */
    private static final long SLEEP_NS_MAX = TimeUnit.SECONDS.toNanos(1);

    /** How long the end waits for calls under way, which are interrupted. */
    private static final long CALLS_END_NS = TimeUnit.SECONDS.toNanos(8);

    private static final VarHandle TAKEN;

    static {
        try {
            TAKEN = MethodHandles.lookup().findVarHandle(SessionWorker.class, "taken", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final String session;
    private final String threadName;
    private final SessionWatch watch;
    private final SharedMemory memory;
    private final SessionArea area;
    private final HandleTable handles;
    private final RpcCommands rpc;
    private final SessionLocks locks;
    private final SpinBudget spins;
    private final Consumer<String> violation;
    private final long base;
    private final long doorbell;
    private final long submitted;
    /** Those that serve, and perhaps some that have ended; guarded by this. */
    private final List<Thread> threads = new ArrayList<>();

    /** The slots that were taken out of the area together and are not served yet: whoever serves one takes its bit. */
    @SuppressWarnings("unused") // through TAKEN
    private volatile long taken;

    /** The thread that takes commands. The others are at a command each, and end after it. Changed under this. */
    private volatile Server leader = new Server();

    private boolean callsEnded; // guarded by this
    private boolean unmapped; // guarded by this
    private int serving; // threads that have not ended; guarded by this

    // The watch's own: what it saw at its last look.
    private @Nullable Server seen;
    private long seenProgress;

    private volatile boolean stopping;

    /**
     * Takes the memory over.
     *
     * @param session for messages
     * @param threadName of its data threads
     * @param violation called on a data thread with the reason why the session must end
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
            Consumer<String> violation) {
        this.session = session;
        this.threadName = threadName;
        this.watch = watch;
        this.memory = memory;
        this.area = area;
        this.handles = handles;
        this.rpc = rpc;
        this.locks = locks;
        this.spins = new SpinBudget(spins);
        this.violation = violation;
        base = memory.address();
        doorbell = base + SessionArea.DOORBELL;
        submitted = base + SessionArea.SUBMITTED;
    }

    /** Starts to serve. Once. */
    void start() {
        synchronized (this) {
            begin(leader);
        }
        watch.add(this);
    }

    /** Under the lock. */
    private void begin(Server server) {
        serving++;
        threads.removeIf(thread -> !thread.isAlive());
        threads.add(Thread.ofPlatform().daemon().name(threadName).start(server));
    }

    /** One thread that serves. */
    private final class Server implements Runnable {
        /** Odd while it is at a command. Written by its thread alone, read by the watch. */
        private volatile long progress;

        /** Whether it slept, and has had no command since. Written by its thread alone. */
        private volatile boolean asleep;

        private static final VarHandle PROGRESS;

        static {
            try {
                PROGRESS = MethodHandles.lookup().findVarHandle(Server.class, "progress", long.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        @Override
        public void run() {
            try {
                while (leader == this && !stopping) {
                    if (doWork(this) == 0 && spinForWork(this) == 0) {
                        sleep(this);
                    }
                }
            } catch (SessionViolation bad) {
                violation.accept(bad.getMessage());
                stopping = true;
            } catch (RuntimeException | Error broken) {
                LOG.error("{}: its thread failed", session, broken);
                violation.accept("the node failed: " + broken);
                stopping = true;
            } finally {
                end();
            }
        }

        /** A command begins, or ends. */
        void step() {
            PROGRESS.setOpaque(this, progress + 1);
        }
    }

    /** A thread ends; the last one gives the memory back. */
    private void end() {
        if (stopping) {
            boolean over = rpc.end(System.nanoTime() + CALLS_END_NS);
            synchronized (this) {
                callsEnded = over;
            }
        }
        synchronized (this) {
            serving--;
            if (serving > 0 || !stopping || unmapped) {
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
     * Has somebody else take the commands if the one who does is still at the command that it was at when this was called last. The
     * watch's thread.
     *
     * @return whether somebody is at work, so that another look is worth it
     */
    boolean look() {
        Server now = leader;
        long progress = now.progress;
        boolean stuck = now == seen && progress == seenProgress && (progress & 1) != 0;
        seen = now;
        seenProgress = progress;
        if (stuck) {
            replace(now);
        }
        return isAwake();
    }

    private synchronized void replace(Server stuck) {
        if (leader == stuck && !stopping && serving < area.slots()) {
            Server next = new Server();
            leader = next;
            begin(next);
        }
    }

    /** Whether the one who takes commands has had one since it slept. */
    boolean isAwake() {
        return !stopping && !leader.asleep;
    }

    /** Makes the threads end after the commands they are at. Any thread; a second call does nothing. */
    void stop() {
        stopping = true;
        watch.remove(this);
        synchronized (this) {
            if (!unmapped) {
                ring();
            }
        }
    }

    /** Wakes the thread that takes commands. */
    private void ring() {
        RawMemory.putIntVolatile(doorbell, SessionArea.DOORBELL_AWAKE);
        Futex.wake(doorbell, 1);
    }

    /** Waits until all threads have ended, after {@link #stop}; false when one still runs at the deadline. */
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

    /** Unmaps the memory of a worker that was never started. */
    synchronized void discard() {
        unmapped = true;
        memory.close();
    }

    private int spinForWork(Server server) {
        for (int i = spins.spins(); i > 0 && !stopping; i--) {
            int done = doWork(server);
            if (done > 0) {
                spins.helped();
                return done;
            }
            Thread.onSpinWait();
        }
        spins.wasInVain();
        return 0;
    }

    private void sleep(Server server) {
        server.asleep = true;
        // The doorbell before the last look at the bits; who sets a bit looks at the doorbell afterwards, or rings it:
        // so one of the two sees the other.
        RawMemory.putIntVolatile(doorbell, SessionArea.DOORBELL_SLEEPING);
        if (RawMemory.getLongVolatile(submitted) == 0 && taken == 0 && !stopping) {
            Futex.await(doorbell, SessionArea.DOORBELL_SLEEPING, SLEEP_NS_MAX);
        }
        RawMemory.putIntVolatile(doorbell, SessionArea.DOORBELL_AWAKE);
    }

    /**
     * Carries out everything that was submitted by now; every slot once, so none waits for another's next command. What a thread
     * takes and cannot come to, because a command before it takes long, its substitute carries out.
     */
    private int doWork(Server server) {
        int done = serveTaken(server);
        if (RawMemory.getLongVolatile(submitted) == 0) {
            return done;
        }
        long bits = RawMemory.getAndSetLong(submitted, 0);
        if ((bits & ~area.slotBits()) != 0) {
            throw new SessionViolation("slots 0x%x were submitted; there are %d slots".formatted(bits, area.slots()));
        }
        if ((bits & (bits - 1)) == 0) {
            if (bits != 0) {
                serveOne(server, Long.numberOfTrailingZeros(bits));
            }
            return done + 1;
        }
        long unused = (long) TAKEN.getAndBitwiseOr(this, bits);
        done += serveTaken(server);
        if (leader != server) {
            ring(); // replaced just before it took them; its substitute may sleep
        }
        return done;
    }

    private int serveTaken(Server server) {
        int done = 0;
        long bits;
        while ((bits = taken) != 0 && !stopping && leader == server) {
            long bit = Long.lowestOneBit(bits);
            if (TAKEN.compareAndSet(this, bits, bits & ~bit)) {
                serveOne(server, Long.numberOfTrailingZeros(bit));
                done++;
            }
        }
        return done;
    }

    private void serveOne(Server server, int slot) {
        if (server.asleep) {
            server.asleep = false; // first: the watch looks at it after it said that it sleeps
            watch.wake();
        }
        server.step();
        serve(slot);
        server.step();
    }

    private void serve(int slot) {
        long at = base + SessionArea.slotOffset(slot);
        // Acquire, so that each is read exactly once, here.
        int op = RawMemory.getIntAcquire(at + SessionArea.OP);
        long lh = RawMemory.getLongAcquire(at + SessionArea.LH);
        long offset = RawMemory.getLongAcquire(at + SessionArea.OFFSET);
        long length = RawMemory.getLongAcquire(at + SessionArea.LENGTH);
        long operand0 = RawMemory.getLongAcquire(at + SessionArea.OPERAND0);
        long operand1 = RawMemory.getLongAcquire(at + SessionArea.OPERAND1);
        if (length < 0 || length > area.windowBytes()) {
            throw new SessionViolation("%s of %d bytes in slot %d; a window has %d"
                    .formatted(Op.nameOf(op), length, slot, area.windowBytes()));
        }
        if (Op.isRpc(op)) {
            rpc.start(new RpcCommands.Command(slot, op, lh, length, operand0, operand1), this);
            return;
        }
        if (op == Op.TRY_LOCK || op == Op.UNLOCK) {
            serveLock(slot, op, lh, operand0);
            return;
        }
        TierHandle handle = handles.find(lh);
        if (handle == null) {
            fail(slot, LiteException.Code.LMR_FREED, HandleTable.staleText(lh));
            return;
        }
        long window = base + area.windowOffset(slot);
        long result = 0;
        try {
            switch (op) {
                case Op.READ -> handle.read(offset, window, length);
                case Op.WRITE -> handle.write(offset, window, length);
                case Op.FETCH_ADD -> result = handle.fetchAdd(offset, operand0);
                case Op.TEST_SET -> result = handle.testSet(offset, operand0, operand1);
                case Op.MEMSET -> handle.memset(offset, length, (byte) operand0);
                default -> throw new SessionViolation("unknown operation %d in slot %d".formatted(op, slot));
            }
        } catch (LiteException refused) {
            fail(slot, refused.code(), String.valueOf(refused.getMessage()));
            return;
        } catch (SessionViolation bad) {
            throw bad;
        } catch (RuntimeException broken) {
            LOG.error("{}: {} failed", session, Op.nameOf(op), broken);
            fail(slot, LiteException.Code.RPC_FAILED, "%s failed in the node: %s".formatted(Op.nameOf(op), broken));
            return;
        }
        complete(slot, 0, result);
    }

    private void serveLock(int slot, int op, long number, long operand) {
        long result;
        try {
            result =
                    op == Op.TRY_LOCK ? locks.tryAcquire(number, operand) : locks.releaseAlone(number, operand) ? 1 : 0;
        } catch (LiteException refused) {
            fail(slot, refused.code(), String.valueOf(refused.getMessage()));
            return;
        } catch (RuntimeException broken) {
            LOG.error("{}: {} failed", session, Op.nameOf(op), broken);
            fail(slot, LiteException.Code.RPC_FAILED, "%s failed in the node: %s".formatted(Op.nameOf(op), broken));
            return;
        }
        complete(slot, 0, result);
    }

    @Override
    public long window(int slot) {
        return base + area.windowOffset(slot);
    }

    @Override
    public int windowBytes() {
        return area.windowBytes();
    }

    @Override
    public void received(int slot, long call, long origin) {
        long at = base + SessionArea.slotOffset(slot);
        RawMemory.putLong(at + SessionArea.CALL, call);
        RawMemory.putLong(at + SessionArea.ORIGIN, origin);
    }

    @Override
    public void fail(int slot, LiteException.Code code, String text) {
        byte[] utf8 = SessionProtocol.cut(text, Math.min(SessionProtocol.TEXT_BYTES_MAX, area.windowBytes()));
        MemorySegment.copy(
                utf8, 0, RawMemory.all(), ValueLayout.JAVA_BYTE, base + area.windowOffset(slot), utf8.length);
        complete(slot, code.number(), utf8.length);
    }

    @Override
    public void complete(int slot, int status, long result) {
        long at = base + SessionArea.slotOffset(slot);
        RawMemory.putInt(at + SessionArea.STATUS, status);
        RawMemory.putLong(at + SessionArea.RESULT, result);
        // Atomic, so that a waiter that announces to sleep at this moment is either seen here or sees that it is done.
        if (RawMemory.getAndSetInt(at + SessionArea.STATE, SessionArea.STATE_DONE) == SessionArea.STATE_SLEEPING) {
            Futex.wake(at + SessionArea.STATE, 1);
        }
    }

    /** The application wrote what no client of ours writes. */
    private static final class SessionViolation extends RuntimeException {
        private static final long serialVersionUID = 1L;

        SessionViolation(String message) {
            super(message, null, false, false);
        }
    }
}
