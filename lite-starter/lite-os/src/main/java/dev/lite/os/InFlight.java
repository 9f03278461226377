package dev.lite.os;

import dev.lite.os.waiting.Polling;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Tracks which memory this process is using, so that memory is never freed during a running operation, without a shared
 * counter on the hot path. Each guarded object (a mapping or a connection) has a {@linkplain #newNumber number}.
 *
 * <p>An operation stores the number in a slot ({@link #enter}), checks that it may proceed, copies, and clears the slot
 * ({@link #exit}). A thread that revokes access first revokes it and then {@linkplain #awaitEnd waits} until no slot holds
 * the number. So either the operation sees the revocation, or the revoking thread sees the slot. This requires the store to
 * the slot to be ordered before the following load, the one order that processors do not keep by themselves. The operation
 * does not pay for that fence: {@link Membarrier} runs one on every running thread of the process instead. On kernels
 * without membarrier the store is volatile. The compiler keeps the order because a release store to raw memory is fenced
 * for it in both directions.
 *
 * <p>Each slot is owned by the first platform or virtual thread whose id modulo {@value #OWNED_SLOTS} selects it. Other
 * threads take a shared slot per operation by compare-and-set. An operation never blocks between enter and exit, so a
 * virtual thread stays on its carrier.
 *
 * <p>{@code enter} and {@code exit} compile to two stores and one comparison, about 1.4 ns. The slots live as long as the
 * process, so that a late operation on a closed object still finds them.
 */
public final class InFlight {
    private static final int OWNED_SLOTS = 1024;
    private static final int SHARED_SLOTS = 256;
    private static final int SLOT_SHIFT = 7; // two cache lines: the prefetcher fetches pairs

    private static final VarHandle OWNER = MethodHandles.arrayElementVarHandle(Thread[].class);
    private static final boolean ASYMMETRIC = Membarrier.register();
    private static final long SLOTS = Arena.global()
            .allocate((long) (OWNED_SLOTS + SHARED_SLOTS) << SLOT_SHIFT, 1 << SLOT_SHIFT)
            .address();
    private static final @Nullable Thread[] OWNERS = new @Nullable Thread[OWNED_SLOTS];
    private static final int NUMBER_MASK = (1 << 27) - 1;
    private static final int COUNTED = 1;
    private static final AtomicInteger NUMBERS = new AtomicInteger();

    private InFlight() {}

    /** Returns a 28-bit number for a new object, never 0. Numbers repeat after 2^27; a wait may then cover both objects. */
    public static int newNumber() {
        int number;
        do {
            number = NUMBERS.incrementAndGet() & NUMBER_MASK;
        } while (number == 0);
        return number << 1;
    }

    /** Like {@link #newNumber}, for an object whose operations {@link #countedUnderWay} counts. */
    public static int newCountedNumber() {
        return newNumber() | COUNTED;
    }

    /** The number of the same object for an operation that is not counted; {@link #isOf} covers both. */
    public static int uncounted(int number) {
        return number & ~COUNTED;
    }

    /** Whether a number is that of an object, counted or not. */
    public static boolean isOf(long object, long number) {
        return ((object ^ number) & ~COUNTED) == 0;
    }

    /**
     * How many operations on counted objects of this process are under way now. They pay nothing for it: this reads the
     * slots, some 20 µs. A thread that lost its processor within an operation counts, too.
     */
    public static int countedUnderWay() {
        return underWay(COUNTED);
    }

    /** {@link #countedUnderWay} of all objects. */
    public static int underWay() {
        return underWay(-1);
    }

    /** @param bits of which one at least is in the number of an operation that counts */
    private static int underWay(long bits) {
        int count = 0;
        for (int index = 0; index < OWNED_SLOTS + SHARED_SLOTS; index++) {
            boolean used = index >= OWNED_SLOTS || OWNERS[index] != null; // racy: a new thread counts a little later
            if (used && (RawMemory.getLongVolatile(SLOTS + ((long) index << SLOT_SHIFT)) & bits) != 0) {
                count++;
            }
        }
        return count;
    }

    /**
     * Begins an operation of the calling thread, which must not be in another one.
     *
     * @return the slot, for {@link #exit}
     */
    public static long enter(long number) {
        Thread thread = Thread.currentThread();
        int index = (int) thread.threadId() & (OWNED_SLOTS - 1);
        if (OWNERS[index] != thread) { // a racy read: only this thread ever stores itself
            return enterSlowly(number, thread, index);
        }
        long slot = SLOTS + ((long) index << SLOT_SHIFT);
        if (ASYMMETRIC) {
            RawMemory.putLongRelease(slot, number);
        } else {
            RawMemory.putLongVolatile(slot, number);
        }
        return slot;
    }

    /** Ends an operation. */
    public static void exit(long slot) {
        RawMemory.putLongRelease(slot, 0);
    }

    /**
     * Like {@link #enter}, but nested: the thread may be in another operation, which must end later.
     *
     * @return the slot, for {@link #exit}
     */
    public static long enterWithin(long number) {
        Thread thread = Thread.currentThread();
        int index = (int) thread.threadId() & (OWNED_SLOTS - 1);
        boolean within = OWNERS[index] == thread && RawMemory.getLong(SLOTS + ((long) index << SLOT_SHIFT)) != 0;
        return within ? enterShared(number, thread) : enter(number);
    }

    private static long enterSlowly(long number, Thread thread, int index) {
        Thread owner = (Thread) OWNER.getVolatile(OWNERS, index);
        if ((owner == null || !owner.isAlive()) && OWNER.compareAndSet(OWNERS, index, owner, thread)) {
            return enter(number);
        }
        return enterShared(number, thread);
    }

    private static long enterShared(long number, Thread thread) {
        // Bounded: a slot is held for one copy, never during a wait.
        for (int at = (int) thread.threadId(); ; at++) {
            long slot = SLOTS + ((OWNED_SLOTS + (long) (at & (SHARED_SLOTS - 1))) << SLOT_SHIFT);
            if (RawMemory.compareAndSetLong(slot, 0, number)) { // a full fence
                return slot;
            }
            Thread.onSpinWait();
        }
    }

    /**
     * Waits until every operation that began before this call with one of these numbers has ended. The caller has revoked
     * their access before, and is in none of them. An operation is a copy, so the wait is short.
     */
    public static void awaitEnd(LongPredicate numbers) {
        if (ASYMMETRIC) {
            Membarrier.barrier();
        } else {
            VarHandle.fullFence();
        }
        for (int index = 0; index < OWNED_SLOTS + SHARED_SLOTS; index++) {
            long slot = SLOTS + ((long) index << SLOT_SHIFT);
            long number = RawMemory.getLong(slot); // after the barrier, which orders it
            if (number == 0 || !numbers.test(number)) {
                continue;
            }
            for (int spins = 0; RawMemory.getLongVolatile(slot) == number; spins++) {
                Polling.pause(spins);
            }
        }
    }
}
