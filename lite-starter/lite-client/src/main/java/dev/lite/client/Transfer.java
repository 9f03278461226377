package dev.lite.client;

import dev.lite.client.DataPath.Outcome;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The data operations of one handle, split into commands of at most one window. Any number of threads; allocates nothing.
 *
 * <p>A long transfer keeps several windows under way, so this thread copies one while the node copies another. It waits only for its
 * first slot and takes more if some are free, so long transfers cannot deadlock on each other's slots.
 */
final class Transfer {
    private static final int SLOT_BITS = 8;
    private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;

    private final ClientHandle handle;
    private final DataPath data;
    private final SlotPool slots;
    private final long lh;
    private final int depth;
    private final long nodeTimeoutNs;

    /** @param lh the number to submit, with the bit for its priority */
    Transfer(ClientHandle handle, DataPath data, long lh, int depth, long nodeTimeoutNs) {
        this.handle = handle;
        this.data = data;
        this.lh = lh;
        this.depth = depth;
        this.nodeTimeoutNs = nodeTimeoutNs;
        slots = data.slots();
    }

    /** What follows a transfer that no thread waits for. */
    interface Ended {
        /**
         * The transfer has ended. Called once, on a thread that it must not block.
         *
         * @param failure null if it succeeded
         * @param helping see {@link WatchedCommands#help}
         */
        void ended(@Nullable Throwable failure, boolean helping);
    }

    void readOne(long offset, MemorySegment destination, long length, long deadlineNs) {
        int slot = acquire(Op.READ, offset, length, deadlineNs);
        try {
            data.submit(slot, Op.READ, lh, offset, length, 0, 0, nodeTimeoutNs);
            complete(slot, Op.READ, offset, length, deadlineNs);
            data.check(slot);
            RawMemory.copyTo(data.window(slot), destination, 0, length);
        } finally {
            data.returnSlot(slot);
        }
    }

    void writeOne(long offset, MemorySegment source, long length, long deadlineNs) {
        int slot = acquire(Op.WRITE, offset, length, deadlineNs);
        try {
            RawMemory.copyFrom(source, 0, data.window(slot), length);
            data.submit(slot, Op.WRITE, lh, offset, length, 0, 0, nodeTimeoutNs);
            complete(slot, Op.WRITE, offset, length, deadlineNs);
            data.check(slot);
        } finally {
            data.returnSlot(slot);
        }
    }

    /**
     * Reads a word, with acquire order: the node's completion of the command is read before anything that the caller reads next.
     *
     * @param bytes 4 or 8; of 4, the result has the value in its lower half
     */
    long readWord(long offset, int bytes, long deadlineNs) {
        int slot = acquire(Op.READ, offset, bytes, deadlineNs);
        try {
            data.submit(slot, Op.READ, lh, offset, bytes, 0, 0, nodeTimeoutNs);
            complete(slot, Op.READ, offset, bytes, deadlineNs);
            data.check(slot);
            long window = data.window(slot);
            return bytes == Integer.BYTES ? RawMemory.getInt(window) : RawMemory.getLong(window);
        } finally {
            data.returnSlot(slot);
        }
    }

    /** Writes a word, with release order: the node sees the command after everything that the caller wrote before. */
    void writeWord(long offset, int bytes, long value, long deadlineNs) {
        int slot = acquire(Op.WRITE, offset, bytes, deadlineNs);
        try {
            long window = data.window(slot);
            if (bytes == Integer.BYTES) {
                RawMemory.putInt(window, (int) value);
            } else {
                RawMemory.putLong(window, value);
            }
            data.submit(slot, Op.WRITE, lh, offset, bytes, 0, 0, nodeTimeoutNs);
            complete(slot, Op.WRITE, offset, bytes, deadlineNs);
            data.check(slot);
        } finally {
            data.returnSlot(slot);
        }
    }

    /**
     * Starts a transfer of at most a window that no thread waits for. Does not block.
     *
     * @return false if it did not start: it needs several windows, or no slot is free
     */
    boolean tryStart(int op, long offset, MemorySegment local, long deadlineNs, Ended ended) {
        long length = local.byteSize();
        int slot = length <= data.windowBytes() ? slots.tryAcquire() : -1;
        if (slot < 0) {
            return false;
        }
        boolean started = false;
        try {
            workFor(slot);
            if (op == Op.WRITE) {
                RawMemory.copyFrom(local, 0, data.window(slot), length);
            }
            data.submitWatched(
                    slot,
                    op,
                    lh,
                    offset,
                    length,
                    0,
                    0,
                    nodeTimeoutNs,
                    deadlineNs,
                    (its, outcome, helping) -> ended.ended(end(its, outcome, op, offset, local), helping));
            started = true;
            return true;
        } finally {
            if (!started) {
                slots.release(slot);
            }
        }
    }

    /** Ends what {@link #tryStart} started; returns the failure, or null. */
    private @Nullable Throwable end(int slot, Outcome outcome, int op, long offset, MemorySegment local) {
        try {
            requireDone(outcome, op, offset, local.byteSize());
            data.check(slot);
            if (op == Op.READ) {
                RawMemory.copyTo(data.window(slot), local, 0, local.byteSize());
            }
            return null;
        } catch (RuntimeException | Error failure) {
            return failure;
        } finally {
            data.returnSlot(slot);
        }
    }

    long atomic(int op, long offset, long operand0, long operand1, long deadlineNs) {
        int slot = acquire(op, offset, Long.BYTES, deadlineNs);
        try {
            data.submit(slot, op, lh, offset, Long.BYTES, operand0, operand1, nodeTimeoutNs);
            complete(slot, op, offset, Long.BYTES, deadlineNs);
            data.check(slot);
            return data.result(slot);
        } finally {
            data.returnSlot(slot);
        }
    }

    /** At most a window. */
    void memset(long offset, long length, byte value, long deadlineNs) {
        int slot = acquire(Op.MEMSET, offset, length, deadlineNs);
        try {
            data.submit(slot, Op.MEMSET, lh, offset, length, value, 0, nodeTimeoutNs);
            complete(slot, Op.MEMSET, offset, length, deadlineNs);
            data.check(slot);
        } finally {
            data.returnSlot(slot);
        }
    }

    void readMany(long offset, MemorySegment destination, long length, long deadlineNs) {
        int window = data.windowBytes();
        int held = windows(length, window);
        long mine = acquireMany(Op.READ, offset, length, held, deadlineNs);
        held = count(mine);
        long submitted = 0;
        long done = 0;
        // Windows are submitted and completed in order: number k uses the k-th of my slots, modulo their count.
        long first = 0;
        long next = 0;
        try {
            while (done < length) {
                while (next - first < held && submitted < length) {
                    long bytes = Math.min(window, length - submitted);
                    submit(slot(mine, (int) (next % held)), Op.READ, offset + submitted, bytes, deadlineNs);
                    submitted += bytes;
                    next++;
                }
                int slot = slot(mine, (int) (first % held));
                long bytes = Math.min(window, length - done);
                complete(slot, Op.READ, offset, length, deadlineNs);
                first++;
                data.check(slot);
                RawMemory.copyTo(data.window(slot), destination, done, bytes);
                done += bytes;
            }
        } finally {
            settle(mine, held, first, next, deadlineNs);
        }
    }

    void writeMany(long offset, MemorySegment source, long length, long deadlineNs) {
        int window = data.windowBytes();
        int held = windows(length, window);
        long mine = acquireMany(Op.WRITE, offset, length, held, deadlineNs);
        held = count(mine);
        long submitted = 0;
        long first = 0;
        long next = 0;
        try {
            while (submitted < length || first < next) {
                if (next - first == held || submitted == length) {
                    int slot = slot(mine, (int) (first % held));
                    complete(slot, Op.WRITE, offset, length, deadlineNs);
                    first++;
                    data.check(slot);
                }
                if (submitted < length) {
                    int slot = slot(mine, (int) (next % held));
                    long bytes = Math.min(window, length - submitted);
                    RawMemory.copyFrom(source, submitted, data.window(slot), bytes);
                    submit(slot, Op.WRITE, offset + submitted, bytes, deadlineNs);
                    submitted += bytes;
                    next++;
                }
            }
        } finally {
            settle(mine, held, first, next, deadlineNs);
        }
    }

    /** One window of a long transfer, for which the node has what is left of the transfer's deadline. */
    private void submit(int slot, int op, long offset, long bytes, long deadlineNs) {
        long timeoutNs = Session.forNode(Math.max(1, deadlineNs - System.nanoTime()));
        data.submit(slot, op, lh, offset, bytes, 0, 0, timeoutNs);
    }

    private int windows(long length, int window) {
        return (int) Math.min(depth, (length + window - 1) / window);
    }

    /** Acquires a slot, notes the handle, and checks that the handle is still usable. */
    private int acquire(int op, long offset, long length, long deadlineNs) {
        data.turns().begin(deadlineNs);
        int slot = slots.acquire(deadlineNs);
        if (slot < 0) {
            handle.requireUsable();
            throw handle.noSlot(op, offset, length);
        }
        boolean usable = false;
        try {
            workFor(slot);
            usable = true;
            return slot;
        } finally {
            if (!usable) {
                slots.release(slot);
            }
        }
    }

    /** Notes the handle, and checks that it is still usable. */
    private void workFor(int slot) {
        slots.workFor(slot, lh & ~SessionProtocol.LOW_PRIORITY);
        handle.requireUsable();
    }

    /** Acquires 1 to {@code wanted} slots; returns their numbers plus 1, one per byte, the first in the lowest byte. */
    private long acquireMany(int op, long offset, long length, int wanted, long deadlineNs) {
        long mine = acquire(op, offset, length, deadlineNs) + 1L;
        int allowed = slots.takeFurther(wanted - 1);
        int further = 0;
        while (further < allowed) {
            int slot = slots.tryAcquire();
            if (slot < 0) {
                break;
            }
            further++;
            slots.workFor(slot, lh & ~SessionProtocol.LOW_PRIORITY);
            mine |= (slot + 1L) << (further * SLOT_BITS);
        }
        slots.giveFurther(allowed - further);
        return mine;
    }

    private static int count(long mine) {
        return (Long.SIZE - Long.numberOfLeadingZeros(mine) + SLOT_BITS - 1) / SLOT_BITS;
    }

    private static int slot(long mine, int index) {
        return (int) (mine >>> (index * SLOT_BITS) & SLOT_MASK) - 1;
    }

    private void complete(int slot, int op, long offset, long length, long deadlineNs) {
        requireDone(data.await(slot, deadlineNs), op, offset, length);
    }

    private void requireDone(Outcome outcome, int op, long offset, long length) {
        if (outcome == Outcome.TIMED_OUT) {
            throw handle.timedOut(op, offset, length);
        }
        if (outcome == Outcome.LOST) {
            throw handle.lost();
        }
    }

    /** Returns all slots of a long transfer. After a failure, waits for the commands that are still under way. */
    private void settle(long mine, int held, long first, long next, long deadlineNs) {
        for (int i = 0; i < held; i++) {
            // Of the commands under way, first to next - 1, at most one used this slot.
            long sinceFirst = Math.floorMod(i - first, (long) held);
            int slot = slot(mine, i);
            if (first + sinceFirst < next) {
                Outcome unused = data.await(slot, deadlineNs);
            }
            data.returnSlot(slot);
        }
        slots.giveFurther(held - 1);
    }
}
