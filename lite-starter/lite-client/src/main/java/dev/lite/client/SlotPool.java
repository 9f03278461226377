package dev.lite.client;

import dev.lite.session.protocol.SessionArea;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntPredicate;

/**
 * Which thread of this process owns which slot of the session area. Only the owner of a slot touches its memory, and the
 * memory is unmapped only after {@link #awaitAllGivenBack}: so a thread in the middle of an operation never meets unmapped
 * memory.
 *
 * <p>A thread starts to look at a slot of its own, so threads do not meet on one word. A slot is claimed and given back
 * with one atomic step each; a lock is taken only when every slot is taken.
 */
final class SlotPool {
    private static final int FREE = 0;
    private static final int BUSY = 1;
    /** Its operation timed out; the node may still write there. Taken back when the node has completed it. */
    private static final int QUARANTINED = 2;

    private static final int CLOSED = 3;

    /** Values this far apart lie on different cache lines. */
    private static final int STRIDE = 8;

    private static final long QUARANTINE_LOOK_NS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long GIVEN_BACK_LOOK_NS = TimeUnit.MICROSECONDS.toNanos(50);
    private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);

    private final int slots;
    private final long[] states;
    /** The handle that the owner of a slot works for; read by unmap, which waits for operations under way. */
    private final long[] handles;
    /** Whether the node completed what was submitted in a slot; reads the shared memory. */
    private final IntPredicate completed;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition givenBack = lock.newCondition();
    /** How many threads wait for a slot. */
    private final AtomicInteger waiters = new AtomicInteger();

    private volatile boolean closed;

    SlotPool(int slots, IntPredicate completed) {
        if (slots < 1 || slots > SessionArea.SLOTS_MAX) {
            throw new IllegalArgumentException("slots: %d; must be 1 to %d".formatted(slots, SessionArea.SLOTS_MAX));
        }
        this.slots = slots;
        this.completed = completed;
        states = new long[slots * STRIDE];
        handles = new long[slots * STRIDE];
    }

    /** A free slot, now the caller's, or -1. */
    int tryAcquire() {
        int first = (int) (Thread.currentThread().threadId() % slots);
        for (int i = 0; i < slots; i++) {
            int slot = first + i < slots ? first + i : first + i - slots;
            if ((long) LONGS.getOpaque(states, slot * STRIDE) == FREE
                    && LONGS.compareAndSet(states, slot * STRIDE, (long) FREE, (long) BUSY)) {
                return slot;
            }
        }
        return -1;
    }

    /**
     * Waits for a slot.
     *
     * @param deadlineNs of {@link System#nanoTime}
     * @return -1 when the deadline passed or the pool was closed
     */
    int acquire(long deadlineNs) {
        int slot = tryAcquire();
        return slot >= 0 ? slot : acquireSlowly(deadlineNs);
    }

    private int acquireSlowly(long deadlineNs) {
        boolean interrupted = false;
        lock.lock();
        try {
            // Before the next look: who gives a slot back after that look sees that somebody waits.
            waiters.incrementAndGet();
            while (!closed) {
                takeBackQuarantined();
                int slot = tryAcquire();
                if (slot >= 0) {
                    return slot;
                }
                long leftNs = deadlineNs - System.nanoTime();
                if (leftNs <= 0) {
                    return -1;
                }
                try {
                    // Nobody tells when the node completes a quarantined slot.
                    givenBack.awaitNanos(Math.min(leftNs, QUARANTINE_LOOK_NS));
                } catch (InterruptedException kept) {
                    // An operation is bounded by its deadline; the interrupt is for the caller.
                    interrupted = true;
                }
            }
            return -1;
        } finally {
            waiters.decrementAndGet();
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Says for which handle the owner of the slot works. What the caller reads after this call it reads after the note is
     * visible: either it sees that the handle is closed, or {@link #awaitNoneFor} sees the slot.
     */
    void workFor(int slot, long lh) {
        LONGS.setVolatile(handles, slot * STRIDE, lh);
        VarHandle.fullFence();
    }

    /** Gives a slot back that the node does not touch any more. */
    void release(int slot) {
        LONGS.setVolatile(states, slot * STRIDE, (long) FREE);
        if (waiters.get() != 0) {
            lock.lock();
            try {
                givenBack.signal();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Gives a slot back that the node may still touch. */
    void quarantine(int slot) {
        LONGS.setVolatile(states, slot * STRIDE, (long) QUARANTINED);
    }

    /** Under the lock, and not after {@link #close}: it reads the shared memory. */
    private void takeBackQuarantined() {
        for (int slot = 0; slot < slots; slot++) {
            if ((long) LONGS.getVolatile(states, slot * STRIDE) == QUARANTINED && completed.test(slot)) {
                LONGS.compareAndSet(states, slot * STRIDE, (long) QUARANTINED, (long) FREE);
            }
        }
    }

    /** Waits until no thread works for the handle; false when the deadline passed first. */
    boolean awaitNoneFor(long lh, long deadlineNs) {
        VarHandle.fullFence();
        for (int slot = 0; slot < slots; slot++) {
            while ((long) LONGS.getVolatile(states, slot * STRIDE) == BUSY
                    && (long) LONGS.getVolatile(handles, slot * STRIDE) == lh) {
                if (deadlineNs - System.nanoTime() <= 0) {
                    return false;
                }
                LockSupport.parkNanos(GIVEN_BACK_LOOK_NS);
            }
        }
        return true;
    }

    /** From now on nobody gets a slot; who waits for one is woken. */
    void close() {
        lock.lock();
        try {
            closed = true;
            givenBack.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * After {@link #close}: waits until no thread owns a slot, and takes them all.
     *
     * @return false when the deadline passed first; the memory must stay mapped then
     */
    boolean awaitAllGivenBack(long deadlineNs) {
        for (int slot = 0; slot < slots; slot++) {
            while ((long) LONGS.getVolatile(states, slot * STRIDE) != CLOSED
                    && !LONGS.compareAndSet(states, slot * STRIDE, (long) FREE, (long) CLOSED)
                    && !LONGS.compareAndSet(states, slot * STRIDE, (long) QUARANTINED, (long) CLOSED)) {
                if (deadlineNs - System.nanoTime() <= 0) {
                    return false;
                }
                LockSupport.parkNanos(GIVEN_BACK_LOOK_NS);
            }
        }
        return true;
    }
}
