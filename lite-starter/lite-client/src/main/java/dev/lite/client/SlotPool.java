package dev.lite.client;

import dev.lite.os.waiting.Polling;
import dev.lite.session.protocol.SessionArea;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;

/**
 * Which thread of this process owns which slot of the session area. Only a slot's owner touches its memory, and the memory is unmapped
 * only after {@link #awaitAllReturned}. So no thread in the middle of an operation meets unmapped memory. Any thread.
 *
 * <p>Each thread starts its search at a slot of its own, so threads do not contend for one word. A slot is acquired and returned with
 * one atomic operation each; the lock is taken only by threads that wait, and by those that return a slot while one waits.
 */
final class SlotPool {
    private static final int FREE = 0;
    private static final int BUSY = 1;
    /** The operation timed out and the node may still write there. Becomes free when the node has completed the command. */
    private static final int QUARANTINED = 2;

    private static final int CLOSED = 3;

    /** Stands for a handle: nobody waits for the end of the slot's command. No handle has this number. */
    private static final long UNWATCHED = -2;

    /** Values this far apart lie on different cache lines. */
    private static final int STRIDE = 8;

    /** A thread that has waited so long for a slot comes before those that begin to look for one. */
    private static final long PATIENCE_NS = TimeUnit.MILLISECONDS.toNanos(10);

    private static final long QUARANTINE_POLL_NS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long UNWATCHED_POLL_NS = 100_000;
    private static final long RETURNED_POLL_NS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);

    private final int slots;
    private final long[] states;
    /** The handle for which the owner of a slot works. Unmap reads it, to wait for operations under way. */
    private final long[] handles;
    /** Whether the node has completed the command in a slot; reads the shared memory. */
    private final IntPredicate completed;

    /**
     * Neither receives nor calls get the last ones of the slots; 0 in a small session, where all uses share all slots. {@link ReceiveSlots}
     * allows so few receives that slots are left for calls, too.
     */
    private final int keptForOthers;
    /** The most receives at once so far, which need slots as well. */
    private final AtomicInteger receives = new AtomicInteger();

    private final ReentrantLock lock = new ReentrantLock();
    private final Line forAll = new Line();
    private final Line forCalls = new Line();
    /** A slot was released or quarantined. */
    private final Condition returned = lock.newCondition();
    /** How many slots long transfers have beyond the first one of each. */
    private final AtomicInteger further = new AtomicInteger();
    /** How many threads wait for any condition. */
    private final AtomicInteger waiters = new AtomicInteger();

    /** Written under the lock. */
    private volatile boolean closed;

    /**
     * What a slot is for. Calls and waits for locks last until another application answers. It may wait for an answer of this one, so
     * they must leave slots for what receives and sends that answer.
     */
    enum Use {
        /** A call, or a wait for a lock. */
        CALL,
        /** Receives calls or messages, and lasts until one comes. */
        RECEIVE,
        /** An answer, a transfer and all else that the node ends soon. */
        OTHER
    }

    /**
     * Threads that wait for slots of one kind. Others take slots that become free before a waiting thread is awake, which keeps slots
     * in use. A thread that this has kept waiting for too long is in need, and from then on nobody else takes such a slot.
     */
    private final class Line {
        private final Condition patient = lock.newCondition();
        private final Condition inNeed = lock.newCondition();
        /** How many threads are in need. Changed under the lock. */
        private final AtomicInteger needs = new AtomicInteger();

        /** A slot became free. Under the lock. */
        void signal() {
            (needs.get() == 0 ? patient : inNeed).signal();
        }

        void signalAll() {
            patient.signalAll();
            inNeed.signalAll();
        }
    }

    SlotPool(int slots, IntPredicate completed) {
        if (slots < 1 || slots > SessionArea.SLOTS_MAX) {
            throw new IllegalArgumentException("slots: %d; must be 1 to %d".formatted(slots, SessionArea.SLOTS_MAX));
        }
        this.slots = slots;
        this.completed = completed;
        keptForOthers = slots / 8;
        states = new long[slots * STRIDE];
        handles = new long[slots * STRIDE];
    }

    /** So many receives are under way at once. */
    void noteReceives(int count) {
        if (count > receives.get()) {
            receives.accumulateAndGet(count, Math::max);
        }
    }

    /** The slots below this one are for calls, too. */
    private int belowForCalls() {
        return keptForOthers == 0 ? slots : slots - keptForOthers - Math.max(keptForOthers, receives.get());
    }

    /** {@link #tryAcquire(Use)} for a short operation. */
    int tryAcquire() {
        return tryAcquire(Use.OTHER);
    }

    /** Returns a free slot, which the caller owns then, or -1. */
    int tryAcquire(Use use) {
        if (line(use).needs.get() != 0) {
            return -1;
        }
        int slot = find(use);
        if (slot < 0 && lock.tryLock()) {
            try {
                if (!closed) {
                    reclaimQuarantined();
                    slot = find(use);
                }
            } finally {
                lock.unlock();
            }
        }
        return slot;
    }

    /**
     * Allows a long transfer to {@linkplain #tryAcquire acquire} more than one slot. It keeps them until its end, so all long transfers
     * together get half of the slots: others need some, too.
     *
     * @return how many more, at most {@code wanted}; {@link #giveFurther} returns them
     */
    int takeFurther(int wanted) {
        int before = further.getAndUpdate(now -> now + allowed(wanted, now));
        return allowed(wanted, before);
    }

    private int allowed(int wanted, int taken) {
        return Math.clamp(slots / 2 - taken, 0, wanted);
    }

    void giveFurther(int count) {
        further.getAndAdd(-count);
    }

    private Line line(Use use) {
        return use == Use.CALL ? forCalls : forAll;
    }

    private int find(Use use) {
        return switch (use) {
            case CALL -> find(belowForCalls());
            case RECEIVE -> findLast(slots - keptForOthers);
            case OTHER -> find(slots);
        };
    }

    private int find(int below) {
        int first = (int) (Thread.currentThread().threadId() % below);
        for (int i = 0; i < below; i++) {
            int slot = first + i < below ? first + i : first + i - below;
            if (take(slot)) {
                return slot;
            }
        }
        return -1;
    }

    private int findLast(int below) {
        for (int slot = below - 1; slot >= 0; slot--) {
            if (take(slot)) {
                return slot;
            }
        }
        return -1;
    }

    private boolean take(int slot) {
        return (long) LONGS.getOpaque(states, slot * STRIDE) == FREE
                && LONGS.compareAndSet(states, slot * STRIDE, (long) FREE, (long) BUSY);
    }

    /** {@link #acquire(Use, long)} for a short operation. */
    int acquire(long deadlineNs) {
        return acquire(Use.OTHER, deadlineNs);
    }

    /**
     * Waits for a slot. An interrupt does not end the wait: it is bounded by the deadline, and the interrupt is kept for the caller.
     *
     * @param deadlineNs of {@link System#nanoTime}
     * @return the slot, or -1 when the deadline passed or the pool was closed
     */
    int acquire(Use use, long deadlineNs) {
        int slot = tryAcquire(use);
        return slot >= 0 ? slot : acquireSlowly(use, deadlineNs);
    }

    private int acquireSlowly(Use use, long deadlineNs) {
        Line line = line(use);
        long needNs = System.nanoTime() + PATIENCE_NS;
        boolean inNeed = false;
        boolean interrupted = false;
        lock.lock();
        try {
            // Before the next try: a thread that returns a slot after that try sees a waiter.
            waiters.incrementAndGet();
            while (!closed) {
                reclaimQuarantined();
                int slot = inNeed || line.needs.get() == 0 ? find(use) : -1;
                if (slot >= 0) {
                    return slot;
                }
                long nowNs = System.nanoTime();
                long leftNs = deadlineNs - nowNs;
                if (leftNs <= 0) {
                    return -1;
                }
                // A receive waits for long, and may not use all slots: others, such as answers, must not wait for it.
                if (!inNeed && use != Use.RECEIVE && nowNs - needNs >= 0) {
                    inNeed = true;
                    line.needs.incrementAndGet();
                }
                try {
                    // Polls, because no one signals when the node completes a quarantined slot.
                    Condition free = inNeed ? line.inNeed : line.patient;
                    boolean unused = free.awaitNanos(Math.min(leftNs, QUARANTINE_POLL_NS)) > 0;
                } catch (InterruptedException kept) {
                    interrupted = true;
                }
            }
            return -1;
        } finally {
            if (inNeed) {
                line.needs.decrementAndGet();
                line.signal(); // there may be more free slots, and now for others, too
            }
            waiters.decrementAndGet();
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Notes the handle for which the owner of the slot works. The note is visible before anything that the caller reads afterwards. So
     * either the caller sees that the handle was unmapped, or {@link #awaitNoneFor} sees the slot.
     */
    void workFor(int slot, long lh) {
        LONGS.setVolatile(handles, slot * STRIDE, lh);
        VarHandle.fullFence();
    }

    /** Nobody waits for the end of the slot's command, so its slot will be quarantined. */
    void unwatched(int slot) {
        LONGS.setVolatile(handles, slot * STRIDE, UNWATCHED);
    }

    /** Waits until the node has completed the commands that nobody waits for, or until {@link #close}. */
    void awaitUnwatched(long deadlineNs) {
        while (anyUnwatched() && deadlineNs - System.nanoTime() > 0) {
            Polling.sleepNs(UNWATCHED_POLL_NS);
        }
    }

    private boolean anyUnwatched() {
        lock.lock();
        try {
            for (int slot = 0; slot < slots && !closed; slot++) {
                if ((long) LONGS.getVolatile(states, slot * STRIDE) == QUARANTINED
                        && (long) LONGS.getVolatile(handles, slot * STRIDE) == UNWATCHED
                        && !completed.test(slot)) {
                    return true;
                }
            }
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** Returns a slot that the node no longer touches. */
    void release(int slot) {
        LONGS.setVolatile(states, slot * STRIDE, (long) FREE);
        signalReturned();
    }

    /** Returns a slot that the node may still touch. */
    void quarantine(int slot) {
        LONGS.setVolatile(states, slot * STRIDE, (long) QUARANTINED);
        signalReturned();
    }

    private void signalReturned() {
        if (waiters.get() != 0) {
            lock.lock();
            try {
                forAll.signal(); // one of each: the first of them may not be able to use this slot
                forCalls.signal();
                returned.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Frees the quarantined slots that the node has completed. Under the lock and not after {@link #close}: reads shared memory. */
    private void reclaimQuarantined() {
        for (int slot = 0; slot < slots; slot++) {
            if ((long) LONGS.getVolatile(states, slot * STRIDE) == QUARANTINED && completed.test(slot)) {
                LONGS.compareAndSet(states, slot * STRIDE, (long) QUARANTINED, (long) FREE);
            }
        }
    }

    /**
     * Waits until no thread works for the handle.
     *
     * @return false when the deadline passed first
     */
    boolean awaitNoneFor(long lh, long deadlineNs) {
        VarHandle.fullFence();
        return awaitReturned(() -> noneFor(lh), deadlineNs);
    }

    private boolean noneFor(long lh) {
        for (int slot = 0; slot < slots; slot++) {
            if ((long) LONGS.getVolatile(states, slot * STRIDE) == BUSY
                    && (long) LONGS.getVolatile(handles, slot * STRIDE) == lh) {
                return false;
            }
        }
        return true;
    }

    /** From now on no thread gets a slot; waiting threads return. */
    void close() {
        lock.lock();
        try {
            closed = true;
            forAll.signalAll();
            forCalls.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * After {@link #close}: waits until no thread owns a slot, and takes them all.
     *
     * @return false when the deadline passed first; the memory must stay mapped then
     */
    boolean awaitAllReturned(long deadlineNs) {
        return awaitReturned(this::takeAll, deadlineNs);
    }

    private boolean takeAll() {
        boolean all = true;
        for (int slot = 0; slot < slots; slot++) {
            all &= (long) LONGS.getVolatile(states, slot * STRIDE) == CLOSED
                    || LONGS.compareAndSet(states, slot * STRIDE, (long) FREE, (long) CLOSED)
                    || LONGS.compareAndSet(states, slot * STRIDE, (long) QUARANTINED, (long) CLOSED);
        }
        return all;
    }

    /** Waits for a condition that becomes true when slots are returned. An interrupt does not end the wait and is kept. */
    private boolean awaitReturned(BooleanSupplier condition, long deadlineNs) {
        if (condition.getAsBoolean()) {
            return true;
        }
        boolean interrupted = false;
        lock.lock();
        try {
            waiters.incrementAndGet(); // before the next check, as in acquireSlowly
            while (!condition.getAsBoolean()) {
                long leftNs = deadlineNs - System.nanoTime();
                if (leftNs <= 0) {
                    return false;
                }
                try {
                    // Polls, because no one signals when the new owner of a slot notes its handle.
                    returned.awaitNanos(Math.min(leftNs, RETURNED_POLL_NS));
                } catch (InterruptedException kept) {
                    interrupted = true;
                }
            }
            return true;
        } finally {
            waiters.decrementAndGet();
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
