package dev.lite.session.channel;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;

/**
 * Which slots of a channel are free, in the memory of the caller's end. A slot is taken and returned with one atomic operation each;
 * the lock is for threads that wait. Any thread; allocates nothing.
 */
final class CallerSlots {
    /** Nobody signals when the server has dropped a cancelled request. */
    private static final long QUARANTINE_POLL_NS = TimeUnit.MILLISECONDS.toNanos(5);

    /** A thread that has waited so long for a slot comes before those that begin to look for one. */
    private static final long PATIENCE_NS = TimeUnit.MILLISECONDS.toNanos(10);

    /** A thread that waits for a slot gives up after this time if the channel is {@linkplain #isCrowded crowded}. */
    private static final long CROWDED_NS = TimeUnit.SECONDS.toNanos(1);

    private final long all;
    private final AtomicLong free;
    /** The slots of calls that stopped waiting; the server may still write there. */
    private final AtomicLong quarantine = new AtomicLong();
    /** Whether the server has done with a slot in quarantine. */
    private final IntPredicate dropped;

    private final BooleanSupplier ended;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition patient = lock.newCondition();
    private final Condition inNeed = lock.newCondition();
    private final AtomicInteger waiters = new AtomicInteger();
    /** How many threads have waited so long that nobody else takes a slot. Changed under the lock. */
    private final AtomicInteger needs = new AtomicInteger();

    CallerSlots(long all, IntPredicate dropped, BooleanSupplier ended) {
        this.all = all;
        free = new AtomicLong(all);
        this.dropped = dropped;
        this.ended = ended;
    }

    /** Returns a free slot, which the thread owns then, or -1. */
    int tryTake() {
        return needs.get() == 0 ? find() : -1;
    }

    private int find() {
        long slots;
        long bit;
        int slot;
        // Each thread begins elsewhere, so that it finds its own slot again.
        int begin = (int) Thread.currentThread().threadId();
        do {
            slots = free.get();
            if (slots == 0) {
                return -1;
            }
            slot = (begin + Long.numberOfTrailingZeros(Long.rotateRight(slots, begin))) & (Long.SIZE - 1);
            bit = 1L << slot;
        } while (!free.compareAndSet(slots, slots & ~bit));
        return slot;
    }

    /**
     * Waits for a slot. An interrupt does not end the wait; it is kept.
     *
     * @param deadlineNs of {@link System#nanoTime}
     * @return the slot; or -1 when the deadline has passed, the channel has ended, or it has long been {@linkplain #isCrowded crowded}
     */
    int take(long deadlineNs) {
        int slot = tryTake();
        return slot >= 0 ? slot : takeLater(deadlineNs);
    }

    private int takeLater(long deadlineNs) {
        boolean interrupted = false;
        boolean need = false;
        long beganNs = System.nanoTime();
        lock.lock();
        try {
            waiters.incrementAndGet(); // before the next try: a thread that returns a slot later sees a waiter
            while (!ended.getAsBoolean()) {
                endQuarantine();
                int slot = need ? find() : tryTake();
                long nowNs = System.nanoTime();
                long leftNs = deadlineNs - nowNs;
                if (slot >= 0 || leftNs <= 0 || (nowNs - beganNs >= CROWDED_NS && isCrowded())) {
                    return slot;
                }
                if (!need && nowNs - beganNs >= PATIENCE_NS) {
                    need = true;
                    needs.incrementAndGet();
                }
                try {
                    long unused = (need ? inNeed : patient).awaitNanos(Math.min(leftNs, QUARANTINE_POLL_NS));
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            return -1;
        } finally {
            if (need) {
                needs.decrementAndGet();
                signalOne(); // there may be more free slots, and now for others, too
            }
            waiters.decrementAndGet();
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Frees the slots in quarantine with which the server has done. Under the lock: between the two steps for a slot, another thread could
     * free it, and its next call be put into quarantine.
     */
    @GuardedBy("lock")
    private void endQuarantine() {
        for (long bits = quarantine.get(); bits != 0; bits &= bits - 1) {
            int slot = Long.numberOfTrailingZeros(bits);
            long bit = 1L << slot;
            if (dropped.test(slot) && (quarantine.getAndUpdate(now -> now & ~bit) & bit) != 0) {
                put(free, bit);
            }
        }
    }

    /** Returns a slot. */
    void giveBack(int slot) {
        put(free, 1L << slot);
        if (waiters.get() != 0) {
            lock.lock();
            try {
                signalOne();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Wakes a thread that may take a slot. Under the lock. */
    private void signalOne() {
        (needs.get() == 0 ? patient : inNeed).signal();
    }

    /** Keeps a slot until the server has done with it. */
    void quarantine(int slot) {
        put(quarantine, 1L << slot);
    }

    /** Wakes all threads that wait for a slot. */
    void wakeAll() {
        lock.lock();
        try {
            patient.signalAll();
            inNeed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Whether all slots are free. */
    boolean isIdle() {
        lock.lock();
        try {
            endQuarantine();
            return free.get() == all;
        } finally {
            lock.unlock();
        }
    }

    /** Takes all slots for good, also those in quarantine; returns false if a call is under way that has not stopped waiting. */
    boolean tryTakeAll() {
        lock.lock(); // as below
        try {
            long slots = free.get();
            if ((quarantine.get() | slots) != all || !free.compareAndSet(slots, 0)) {
                return false;
            }
            quarantine.set(0);
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Whether a call is under way that has not stopped waiting. */
    boolean isAwaited() {
        lock.lock(); // a slot that leaves the quarantine is in neither set for a moment
        try {
            return (quarantine.get() | free.get()) != all;
        } finally {
            lock.unlock();
        }
    }

    /** Whether at least half of the slots are in quarantine: the server does not seem to answer some calls at all. */
    boolean isCrowded() {
        return 2 * quarantined() >= Long.bitCount(all);
    }

    /** The number of slots in quarantine. */
    int quarantined() {
        return Long.bitCount(quarantine.get());
    }

    private static void put(AtomicLong set, long bit) {
        long unused = set.getAndAdd(bit); // the bit is not in the set
    }
}
