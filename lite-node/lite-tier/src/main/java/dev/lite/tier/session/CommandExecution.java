package dev.lite.tier.session;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.LmrFreedException;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.CommandCounts;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.tier.Access;
import dev.lite.tier.Operation;
import dev.lite.tier.TierHandle;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Executes the commands of a session, between the LMR and the slot's window.
 *
 * <p>The application may write anything into the area at any time. So each word of a command is read once, into a local
 * variable, and checked there; a window only ever holds data. A command that LITE's client never sends ends the
 * session. A refused command (bounds, permission, stale handle) completes with its error.
 *
 * <p>Allocates nothing per command, except when it fails, or is one of {@link RpcCommands} or of {@link PostedTransfers}.
 * Any thread, each with another slot.
 */
final class CommandExecution {
    /** Command timeouts are capped at one hour, like the default for control requests. */
    private static final long TIMEOUT_NS_MAX = TimeUnit.HOURS.toNanos(1);

    /** The thread that executes a command. */
    interface Executor {
        /** Takes the poll role if it is free. */
        void takeRole();

        void releaseRole();

        boolean holdsRole();

        /** Called before a command that may block, and with -1 before its slot is completed. */
        void blocking(int slot);

        /** A transfer was started or deferred, and this thread may have been replaced meanwhile. */
        void submitted();
    }

    private final SessionArea area;
    private final HandleTable handles;
    private final RpcCommands rpc;
    private final SessionLocks locks;
    private final long base;
    private final AreaSlots slots;
    private final PostedTransfers transfers;
    private final CommandCounts counts = new CommandCounts();

    /** @param base the address of the area */
    CommandExecution(
            SessionArea area,
            long base,
            HandleTable handles,
            RpcCommands rpc,
            SessionLocks locks,
            AreaSlots slots,
            PostedTransfers transfers) {
        this.area = area;
        this.base = base;
        this.handles = handles;
        this.rpc = rpc;
        this.locks = locks;
        this.slots = slots;
        this.transfers = transfers;
    }

    /** What the application has asked for so far. Any thread. */
    Map<Kind, Count> operations() {
        return counts.sums();
    }

    /**
     * Executes the command of a slot, and completes it unless it waits for others.
     *
     * @param mayDefer whether a transfer without room may wait for it
     * @param again whether the command was deferred before, and so was counted
     * @throws SessionViolation if the application wrote something that LITE's client never writes
     */
    void execute(Executor thread, int slot, boolean mayDefer, boolean again) {
        long at = base + SessionArea.slotOffset(slot);
        // Acquire reads, so that each word is read exactly once, here.
        int op = RawMemory.getIntAcquire(at + SessionArea.OP);
        long lh = RawMemory.getLongAcquire(at + SessionArea.LH);
        long offset = RawMemory.getLongAcquire(at + SessionArea.OFFSET);
        long length = RawMemory.getLongAcquire(at + SessionArea.LENGTH);
        long operand0 = RawMemory.getLongAcquire(at + SessionArea.OPERAND0);
        long operand1 = RawMemory.getLongAcquire(at + SessionArea.OPERAND1);
        // The application can write any number; 0 would select the node's own deadline.
        long timeoutNs = Math.clamp(RawMemory.getLongAcquire(at + SessionArea.TIMEOUT_NS), 1, TIMEOUT_NS_MAX);
        if (length < 0 || length > area.windowBytes()) {
            throw new SessionViolation("%s of %d bytes in slot %d; a window has %d"
                    .formatted(Op.nameOf(op), length, slot, area.windowBytes()));
        }
        if (!again) {
            long unused = counts.count(slot, op, length);
        }
        if (Op.mayWait(op)) {
            if (op != Op.REPLY && op != Op.FAIL && op != Op.LOCK) {
                thread.takeRole(); // before the post, so that the answer finds it taken
            }
            boolean soon = thread.holdsRole();
            if (!rpc.start(
                    new RpcCommands.Command(slot, op, lh, offset, length, operand0, operand1, timeoutNs, soon),
                    slots)) {
                throw submittedTwice(slot);
            }
            return;
        }
        if (!Op.isLock(op) && !Op.isAccess(op)) {
            throw new SessionViolation("unknown operation %d in slot %d".formatted(op, slot));
        }
        long result;
        try {
            if (Op.isLock(op)) {
                mayBlock(thread, slot);
                result = lock(op, lh, operand0);
            } else {
                TierHandle handle = handles.find(lh);
                if (handle == null) {
                    throw new LmrFreedException(HandleTable.staleText(lh));
                }
                locks.requireNoneLost();
                boolean waits = handle.mustWait();
                if (!waits && handle.needsFabric()) {
                    Access posted = posted(slot, op, offset, length, operand0, operand1);
                    if (posted != null
                            && transfers.start(handle, slot, op, posted, timeoutNs, mayDefer, thread.holdsRole())) {
                        thread.submitted();
                        return;
                    }
                    long bytes = Op.isAtomic(op) ? Long.BYTES : length;
                    waits = (!mayDefer && !transfers.hasRoom()) || handle.isHeldUp(offset, bytes);
                }
                if (waits) {
                    transfers.startAlone(
                            slot, op, () -> access(handle, slot, op, offset, length, operand0, operand1, timeoutNs));
                    thread.submitted();
                    return;
                }
                mayBlock(thread, slot);
                result = access(handle, slot, op, offset, length, operand0, operand1, timeoutNs);
            }
        } catch (SessionViolation bad) {
            throw bad;
        } catch (RuntimeException failure) {
            thread.blocking(-1);
            slots.fail(slot, op, failure);
            return;
        }
        thread.blocking(-1);
        slots.complete(slot, 0, result);
    }

    private static void mayBlock(Executor thread, int slot) {
        thread.releaseRole();
        thread.blocking(slot);
    }

    /** What a command does to its handle, for a fabric; null: not one access, as with {@link Op#MEMSET}. */
    private @Nullable Access posted(int slot, int op, long offset, long length, long operand0, long operand1) {
        Operation operation = switch (op) {
            case Op.READ -> Operation.READ;
            case Op.WRITE -> Operation.WRITE;
            case Op.FETCH_ADD -> Operation.FETCH_ADD;
            case Op.TEST_SET -> Operation.COMPARE_AND_SWAP;
            default -> null;
        };
        if (operation == null) {
            return null;
        }
        long bytes = operation.isAtomic() ? Long.BYTES : length;
        MemorySegment window = RawMemory.all().asSlice(base + area.windowOffset(slot), bytes);
        return new Access(operation, offset, operand0, operand1, window);
    }

    /** May block. */
    private long access(
            TierHandle handle,
            int slot,
            int op,
            long offset,
            long length,
            long operand0,
            long operand1,
            long timeoutNs) {
        long window = base + area.windowOffset(slot);
        return switch (op) {
            case Op.READ -> {
                handle.read(offset, window, length, timeoutNs);
                yield 0;
            }
            case Op.WRITE -> {
                handle.write(offset, window, length, timeoutNs);
                yield 0;
            }
            case Op.MEMSET -> {
                handle.memset(offset, length, (byte) operand0, timeoutNs);
                yield 0;
            }
            case Op.FETCH_ADD -> handle.fetchAdd(offset, operand0, timeoutNs);
            default -> handle.testSet(offset, operand0, operand1, timeoutNs);
        };
    }

    private long lock(int op, long number, long operand) {
        return switch (op) {
            case Op.TRY_LOCK -> locks.tryAcquire(number, operand);
            case Op.UNLOCK -> locks.releaseAtOnce(number, operand) ? 1 : 0;
            default -> locks.isHeld(number, operand) ? 1 : 0;
        };
    }

    /** The violation of an application that submitted a slot whose command is under way. */
    SessionViolation submittedTwice(int slot) {
        int op = RawMemory.getIntAcquire(base + SessionArea.slotOffset(slot) + SessionArea.OP);
        return new SessionViolation(
                "%s was submitted in slot %d, which still has a command under way".formatted(Op.nameOf(op), slot));
    }
}
