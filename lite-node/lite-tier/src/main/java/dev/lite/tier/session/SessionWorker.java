package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.client.protocol.SessionArea;
import dev.lite.client.protocol.SessionProtocol;
import dev.lite.client.protocol.SessionProtocol.Op;
import dev.lite.client.protocol.SpinBudget;
import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.tier.TierHandle;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The node's side of a session's {@link SessionArea}: one platform thread that takes commands, carries them out between the
 * LMR and the slot's window, and completes them. It owns the memory and unmaps it when it ends.
 *
 * <p>The application may write anything into the area at any time. Each word of a command is therefore read once, into a
 * local variable, and checked there; a window only ever holds data. A command that no client of ours can have made ends
 * the session; one that is merely refused (bounds, permission, stale handle) is completed with its error.
 *
 * <p>Nothing is allocated per command unless it fails, or is one of {@link RpcCommands}.
 */
final class SessionWorker implements Runnable, RpcCommands.Slots {
    private static final Logger LOG = LoggerFactory.getLogger(SessionWorker.class);

    /** The end of the session wakes the thread; this is for an application that overwrote that very word. */
    private static final long SLEEP_NS_MAX = TimeUnit.SECONDS.toNanos(1);

    /** How long the end waits for calls under way, which are interrupted. */
    private static final long CALLS_END_NS = TimeUnit.SECONDS.toNanos(8);

    private final String session;
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
    private final Object unmapping = new Object();
    private boolean unmapped;
    private volatile boolean stopping;

    /**
     * Takes the memory over.
     *
     * @param session for messages
     * @param violation called on this thread, once, with the reason why the session must end
     */
    SessionWorker(
            String session,
            SharedMemory memory,
            SessionArea area,
            HandleTable handles,
            RpcCommands rpc,
            SessionLocks locks,
            int spins,
            Consumer<String> violation) {
        this.session = session;
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

    @Override
    public void run() {
        try {
            while (!stopping) {
                if (doWork() == 0 && spinForWork() == 0) {
                    sleep();
                }
            }
        } catch (SessionViolation bad) {
            violation.accept(bad.getMessage());
        } catch (RuntimeException | Error broken) {
            LOG.error("{}: its thread failed", session, broken);
            violation.accept("the node failed: " + broken);
        } finally {
            boolean unused = rpc.end(System.nanoTime() + CALLS_END_NS);
            synchronized (unmapping) {
                unmapped = true;
                if (unused) {
                    memory.close();
                } else {
                    LOG.warn("{}: a call has not ended; the session's memory stays mapped", session);
                }
            }
        }
    }

    /** Makes the thread end after the command it is at. Any thread; a second call does nothing. */
    void stop() {
        stopping = true;
        synchronized (unmapping) {
            if (!unmapped) {
                RawMemory.putIntVolatile(doorbell, SessionArea.DOORBELL_AWAKE);
                Futex.wake(doorbell, 1);
            }
        }
    }

    /** Unmaps the memory of a worker whose thread was never started. */
    void discard() {
        synchronized (unmapping) {
            unmapped = true;
            memory.close();
        }
    }

    private int spinForWork() {
        for (int i = spins.spins(); i > 0 && !stopping; i--) {
            int done = doWork();
            if (done > 0) {
                spins.helped();
                return done;
            }
            Thread.onSpinWait();
        }
        spins.wasInVain();
        return 0;
    }

    private void sleep() {
        // The doorbell before the last look at the bits; the client sets its bit before it looks at the doorbell: one
        // of
        // the two sees the other.
        RawMemory.putIntVolatile(doorbell, SessionArea.DOORBELL_SLEEPING);
        if (RawMemory.getLongVolatile(submitted) == 0 && !stopping) {
            Futex.await(doorbell, SessionArea.DOORBELL_SLEEPING, SLEEP_NS_MAX);
        }
        RawMemory.putIntVolatile(doorbell, SessionArea.DOORBELL_AWAKE);
    }

    /** Carries out everything that was submitted by now; every slot once, so none waits for another's next command. */
    private int doWork() {
        if (RawMemory.getLongVolatile(submitted) == 0) {
            return 0;
        }
        long bits = RawMemory.getAndSetLong(submitted, 0);
        if ((bits & ~area.slotBits()) != 0) {
            throw new SessionViolation("slots 0x%x were submitted; there are %d slots".formatted(bits, area.slots()));
        }
        int done = 0;
        for (long left = bits; left != 0 && !stopping; left &= left - 1) {
            serve(Long.numberOfTrailingZeros(left));
            done++;
        }
        return done;
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
