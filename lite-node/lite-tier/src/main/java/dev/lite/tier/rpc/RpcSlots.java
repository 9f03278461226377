package dev.lite.tier.rpc;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ExtentRun;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Peer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The node's {@link RpcSlot}s, in three sizes, allocated on first use. Taking a slot and returning it is one atomic
 * step each. Any thread.
 *
 * <p>Limit: {@value #SMALL_MAX} slots of 1 KiB, {@value #MIDDLE_MAX} of 8 KiB and {@value #LARGE_MAX} of 64 KiB. Each
 * slot takes its size twice (out and in) plus 128 bytes: 4.3 + 8.1 + 32.0 MiB of the arena at most. A call that finds
 * no free slot waits up to its deadline.
 */
final class RpcSlots {
    static final int OUT_HEADER_BYTES = 64;
    static final int SMALL_MAX = 2048;
    static final int MIDDLE_MAX = 512;
    static final int LARGE_MAX = 256;

    private static final int[] CAPACITY = {1 << 10, 8 << 10, LtRpc.MESSAGE_BYTES_MAX};
    private static final int[] MAX = {SMALL_MAX, MIDDLE_MAX, LARGE_MAX};
    /** Slots allocated at once: about 128 KiB. */
    private static final int[] BATCH = {64, 8, 1};

    private static final long INDEX_MASK = 0xffff_ffffL;
    private static final long PAUSE_NS = 20_000;

    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final AtomicReferenceArray<@Nullable RpcSlot> slots =
            new AtomicReferenceArray<>(SMALL_MAX + MIDDLE_MAX + LARGE_MAX);
    /** Per size: index + 1 of the first free slot. The upper half is a counter, so that no head value recurs (ABA). */
    private final AtomicLong[] free = {new AtomicLong(), new AtomicLong(), new AtomicLong()};

    /** Per size: held by the one waiting thread that polls for a free slot. */
    private final ReentrantLock[] turns = {new ReentrantLock(true), new ReentrantLock(true), new ReentrantLock(true)};

    private final int[] made = new int[CAPACITY.length]; // guarded by this
    private volatile int count;
    private volatile boolean closed;

    RpcSlots(NodeArena arena, ArenaAllocator allocator) {
        this.arena = arena;
        this.allocator = allocator;
    }

    /** Offset of the outgoing half in a slot. */
    static int outPlace(int capacity) {
        return (RpcWire.REPLY_HEADER_BYTES + capacity + RpcWire.UNIT_BYTES - 1) & -RpcWire.UNIT_BYTES;
    }

    private static int slotBytes(int capacity) {
        return outPlace(capacity) + OUT_HEADER_BYTES + capacity;
    }

    @Nullable
    RpcSlot get(int index) {
        return index >= 0 && index < slots.length() ? slots.get(index) : null;
    }

    /**
     * Takes a slot for messages of up to {@code bytes} bytes.
     *
     * @param deadlineNs a time of {@link System#nanoTime}
     * @throws LiteTimeoutException if no slot is free before the deadline
     * @throws LimitExceededException if the arena has no room for the first slots
     */
    RpcSlot take(int bytes, long deadlineNs) {
        RpcSlot slot = tryTake(bytes);
        return slot != null ? slot : own(takeSlowly(sizeClass(bytes), deadlineNs));
    }

    /** Like {@link #take}, but returns null if no slot is free now. */
    @Nullable
    RpcSlot tryTake(int bytes) {
        RpcSlot slot = pop(sizeClass(bytes));
        return slot == null ? null : own(slot);
    }

    private static int sizeClass(int bytes) {
        int sizeClass = 0;
        while (CAPACITY[sizeClass] < bytes) {
            sizeClass++;
        }
        return sizeClass;
    }

    private RpcSlot own(RpcSlot slot) {
        slot.state(RpcSlot.OWNED);
        // After the state is set: either this thread sees closed, or awaitUnused sees the slot.
        if (closed) {
            giveBack(slot);
            throw new SessionLostException("the node is stopping");
        }
        return slot;
    }

    /** One waiting thread per size polls for a free slot. The others queue for that thread's lock in FIFO order. */
    private RpcSlot takeSlowly(int sizeClass, long deadlineNs) {
        ReentrantLock turn = turns[sizeClass];
        boolean mine = false;
        try {
            mine = turn.tryLock(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
            while (true) {
                if (!closed) {
                    makeMore(sizeClass);
                }
                RpcSlot slot = pop(sizeClass);
                if (slot != null) {
                    return slot;
                }
                if (!mine || deadlineNs - System.nanoTime() <= 0) {
                    throw new LiteTimeoutException(
                            "all %d slots for messages of up to %d bytes are taken by calls in flight or unanswered"
                                    .formatted(MAX[sizeClass], CAPACITY[sizeClass]));
                }
                if (closed) {
                    throw new SessionLostException("the node is stopping while a call waits for a slot");
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                Polling.sleepNs(PAUSE_NS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SessionLostException("interrupted while a call waits for a slot", e);
        } finally {
            if (mine) {
                turn.unlock();
            }
        }
    }

    private synchronized void makeMore(int sizeClass) {
        if ((free[sizeClass].get() & INDEX_MASK) != 0 || made[sizeClass] == MAX[sizeClass]) {
            return;
        }
        int bytes = slotBytes(CAPACITY[sizeClass]);
        ExtentRun run;
        try {
            run = allocator
                    .allocate(ArenaAllocator.INTERNAL_LMR, (long) bytes * BATCH[sizeClass], 1, 1)
                    .getFirst();
        } catch (LimitExceededException e) {
            if (made[sizeClass] > 0) {
                return; // one of the existing slots becomes free
            }
            throw e;
        }
        for (int i = 0; i < BATCH[sizeClass]; i++) {
            long offset = run.offset() + (long) i * bytes;
            RpcSlot slot = new RpcSlot(count, sizeClass, CAPACITY[sizeClass], arena.address() + offset, offset);
            slots.set(count, slot);
            count = slot.index + 1;
            push(slot);
        }
        made[sizeClass] += BATCH[sizeClass];
    }

    private @Nullable RpcSlot pop(int sizeClass) {
        AtomicLong head = free[sizeClass];
        while (true) {
            long seen = head.get();
            int index = (int) (seen & INDEX_MASK) - 1;
            RpcSlot slot = index < 0 ? null : slots.get(index);
            if (slot == null) {
                return null;
            }
            if (head.compareAndSet(seen, (seen & ~INDEX_MASK) | slot.nextFree)) {
                return slot;
            }
        }
    }

    /** Returns a slot. Nobody may write to it any more, and the caller must have claimed its state. */
    void giveBack(RpcSlot slot) {
        slot.peer = null;
        slot.state(RpcSlot.FREE);
        push(slot);
    }

    private void push(RpcSlot slot) {
        AtomicLong head = free[slot.sizeClass];
        while (true) {
            long seen = head.get();
            slot.nextFree = (int) (seen & INDEX_MASK);
            if (head.compareAndSet(seen, ((seen & ~INDEX_MASK) + INDEX_MASK + 1) | (slot.index + 1))) {
                return;
            }
        }
    }

    /** Runs an action for every slot of a peer. */
    void forEachOf(Peer peer, Consumer<RpcSlot> action) {
        for (int index = 0; index < count; index++) {
            RpcSlot slot = slots.get(index);
            if (slot != null && slot.peer == peer) {
                action.accept(slot);
            }
        }
    }

    /** Arena bytes that the slots use. */
    synchronized long bytes() {
        long bytes = 0;
        for (int sizeClass = 0; sizeClass < CAPACITY.length; sizeClass++) {
            bytes += (long) made[sizeClass] * slotBytes(CAPACITY[sizeClass]);
        }
        return bytes;
    }

    /** Rejects further takes. */
    void close() {
        closed = true;
    }

    /** After {@link #close}: waits until no thread uses a slot; false if one is still in use at the deadline. */
    boolean awaitUnused(long deadlineNs) {
        for (int index = 0; index < count; index++) {
            RpcSlot slot = slots.get(index);
            while (slot != null && slot.state() != RpcSlot.FREE && slot.state() != RpcSlot.ABANDONED) {
                if (deadlineNs - System.nanoTime() <= 0) {
                    return false;
                }
                Polling.sleepNs(PAUSE_NS);
            }
        }
        return true;
    }
}
