package dev.lite.os;

import dev.lite.os.waiting.Polling;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Which memory this process is using just now, so that none is taken away under a running operation (architecture §6),
 * without a shared counter on the hot path. What is guarded (a mapping, a connection) has a {@linkplain #newNumber number}.
 *
 * <p>An operation announces the number in a slot ({@link #enter}), then reads whether it may go on, then copies, then clears
 * the slot ({@link #exit}). Whoever takes the right away does so first and then {@linkplain #awaitEnd waits} until no slot
 * shows the number. Either the operation sees that its right is gone, or the other sees its slot. That needs the announcing
 * store to be ordered before the load of the right, the one order that a processor does not keep by itself. The costly
 * fence for it is not run by the operation but on its behalf by {@link Membarrier}, which makes every running thread of the
 * process pass a full fence. Where the kernel has no membarrier, the store is a volatile one. The compiler keeps the order
 * because a release store to raw memory is fenced for it in both directions.
 *
 * <p>A slot belongs to the platform or virtual thread that has its thread id modulo {@value #OWNED_SLOTS} and came first.
 * Other threads take a shared slot for each operation by compare-and-set. An operation never blocks between enter and
 * exit, so a virtual thread stays on its carrier.
 *
 * <p>{@code enter} and {@code exit} compile to two stores and one comparison, about 1.4 ns. The slots live as long as the
 * process, so that an operation on what was closed long ago finds them.
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
    private static final int NUMBER_MASK = (1 << 28) - 1;
    private static final AtomicInteger NUMBERS = new AtomicInteger();

    private InFlight() {}

    /** A number of 28 bits for something new, never 0. It comes again after very many; then a wait may be for both. */
    public static int newNumber() {
        int number;
        do {
            number = NUMBERS.incrementAndGet() & NUMBER_MASK;
        } while (number == 0);
        return number;
    }

    /**
     * Announces an operation of the calling thread, which is in none.
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
     * {@link #enter}, for a thread that may be in another operation; that one ends later.
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
        // Bounded: a slot is held for one copy each, never while waiting.
        for (int at = (int) thread.threadId(); ; at++) {
            long slot = SLOTS + ((OWNED_SLOTS + (long) (at & (SHARED_SLOTS - 1))) << SLOT_SHIFT);
            if (RawMemory.compareAndSetLong(slot, 0, number)) { // a full fence
                return slot;
            }
            Thread.onSpinWait();
        }
    }

    /**
     * Waits until every operation that was announced before the call with one of these numbers is over. What they were
     * allowed must have been taken away before. An operation is a copy, so it ends by itself. The caller is in none of them.
     */
    public static void awaitEnd(LongPredicate numbers) {
        if (ASYMMETRIC) {
            Membarrier.barrier();
        } else {
            VarHandle.fullFence();
        }
        for (int index = 0; index < OWNED_SLOTS + SHARED_SLOTS; index++) {
            long slot = SLOTS + ((long) index << SLOT_SHIFT);
            long number = RawMemory.getLongVolatile(slot);
            if (number == 0 || !numbers.test(number)) {
                continue;
            }
            for (int spins = 0; RawMemory.getLongVolatile(slot) == number; spins++) {
                Polling.pause(spins);
            }
        }
    }
}
