package dev.lite.tier.rpc;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The slots of one user: of the calls of one function by one principal, or of the replies to one ring. A slot that is
 * returned stays with its share until {@link RpcSlots} needs it for another one. So taking and returning a slot is one
 * atomic step each on memory that only this share's threads use. Any thread.
 */
final class RpcSlotShare {
    /** Low half of a head: index + 1 of the first free slot. High half: a counter, so that no head recurs (ABA). */
    private static final long INDEX_MASK = 0xffff_ffffL;

    private static final Object WANTED = new Object();

    final RpcSlots.Group group;
    /** The user, for messages. */
    final String user;
    /** By size class: how many slots belong to this share, free or taken. Guarded by the slots' lock. */
    final int[] owned = new int[RpcSlots.SIZES];
    /** By size class: held by the one waiting thread that polls for a free slot. */
    final ReentrantLock[] turns = {new ReentrantLock(true), new ReentrantLock(true), new ReentrantLock(true)};

    private final RpcSlots slots;
    private final AtomicLongArray free = new AtomicLongArray(RpcSlots.SIZES);
    /** By size class: {@link #WANTED}, or the slot that was returned since; null: no thread wants one. */
    private final AtomicReferenceArray<@Nullable Object> wanted = new AtomicReferenceArray<>(RpcSlots.SIZES);

    volatile boolean closed; // written under the slots' lock

    RpcSlotShare(RpcSlots slots, RpcSlots.Group group, String user) {
        this.slots = slots;
        this.group = group;
        this.user = user;
    }

    /**
     * Takes a slot for messages of up to {@code bytes} bytes.
     *
     * @param deadlineNs a time of {@link System#nanoTime}
     * @throws dev.lite.api.LiteTimeoutException if the share has no free slot before the deadline
     * @throws dev.lite.api.LimitExceededException if the arena has no room for the first slots
     * @throws dev.lite.api.SessionLostException if the node is stopping, or the thread was interrupted
     * @throws dev.lite.api.NodeUnreachableException if the share was closed
     */
    RpcSlot take(int bytes, long deadlineNs) {
        RpcSlot slot = tryTake(bytes);
        return slot != null ? slot : slots.await(this, RpcSlots.sizeClass(bytes), deadlineNs);
    }

    /** Like {@link #take}, but returns null if the share has no free slot now. */
    @Nullable
    RpcSlot tryTake(int bytes) {
        int sizeClass = RpcSlots.sizeClass(bytes);
        RpcSlot slot = pop(sizeClass);
        if (slot == null) {
            slot = slots.adopt(this, sizeClass);
        }
        return slot == null ? null : slots.own(slot);
    }

    /** Takes a free slot off this share. */
    @Nullable
    RpcSlot pop(int sizeClass) {
        while (true) {
            long seen = free.get(sizeClass);
            RpcSlot slot = slots.get((int) (seen & INDEX_MASK) - 1);
            if (slot == null) {
                return null;
            }
            if (free.compareAndSet(sizeClass, seen, (seen & ~INDEX_MASK) | slot.nextFree)) {
                return slot;
            }
        }
    }

    /** The next slot that is returned is for this thread, which holds the {@link #turns}. {@link #endWant} must follow. */
    void want(int sizeClass) {
        wanted.set(sizeClass, WANTED);
    }

    /** Whether a thread wants a slot and has none yet. */
    boolean isWanted(int sizeClass) {
        return wanted.get(sizeClass) == WANTED;
    }

    /** The slot that was returned since {@link #want}, or null. */
    @Nullable
    RpcSlot wanted(int sizeClass) {
        return isWanted(sizeClass) ? null : (RpcSlot) wanted.getAndSet(sizeClass, null);
    }

    /** The thread wants no slot any more. */
    void endWant(int sizeClass) {
        if (wanted.getAndSet(sizeClass, null) instanceof RpcSlot slot) { // it has another one, or gives up
            putBack(slot);
        }
    }

    /** Returns a slot. Nobody may write to it any more, and the caller must have claimed its state. */
    void giveBack(RpcSlot slot) {
        slot.peer = null;
        slot.state(RpcSlot.FREE);
        if (!isWanted(slot.sizeClass) || !wanted.compareAndSet(slot.sizeClass, WANTED, slot)) {
            putBack(slot);
        }
    }

    private void putBack(RpcSlot slot) {
        push(slot);
        // After the push: either this thread sees closed, or the closing thread sees the slot.
        if (closed) {
            slots.disown(this);
        }
    }

    private void push(RpcSlot slot) {
        while (true) {
            long seen = free.get(slot.sizeClass);
            slot.nextFree = (int) (seen & INDEX_MASK);
            if (free.compareAndSet(slot.sizeClass, seen, ((seen & ~INDEX_MASK) + INDEX_MASK + 1) | (slot.index + 1))) {
                return;
            }
        }
    }

    /** Ends the share. Its free slots leave it now, the others when they are returned. A second call does nothing. */
    void close() {
        slots.close(this);
    }
}
