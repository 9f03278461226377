package dev.lite.tier.memory;

import dev.lite.os.Membarrier;
import dev.lite.os.RawMemory;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Which mappings this process is using just now, so that memory is never reused under a running operation (architecture
 * §6), without a shared counter on the hot path.
 *
 * <p>An operation announces its mapping's number in a slot ({@link #enter}), then reads the mapping's rights, then copies,
 * then clears the slot ({@link #exit}). Whoever takes the rights away does so first and then {@linkplain #awaitEnd waits}
 * until no slot shows the number. Either the operation sees that the rights are gone, or the other sees its slot. That
 * needs the announcing store to be ordered before the load of the rights, the one order that a processor does not keep by
 * itself. The costly fence for it is not run by the operation but on its behalf by {@link Membarrier}, which makes every
 * running thread of the process pass a full fence. Where the kernel has no membarrier, the store is a volatile one. The
 * compiler keeps the order because a release store to raw memory is fenced for it in both directions.
 *
 * <p>A slot belongs to the platform or virtual thread that has its thread id modulo {@value #OWNED_SLOTS} and came first.
 * Other threads take a shared slot for each operation by compare-and-set. An operation never blocks between enter and
 * exit, so a virtual thread stays on its carrier.
 *
 * <p>{@code enter} and {@code exit} compile to two stores and one comparison, about 1.4 ns. The slots live as long as the
 * process, so that an operation on a closed node's handle finds them.
 */
final class InFlight {
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

    /** A number of 28 bits for a new mapping, never 0. It comes again after very many; then a wait may be for both. */
    static int newNumber() {
        int number;
        do {
            number = NUMBERS.incrementAndGet() & NUMBER_MASK;
        } while (number == 0);
        return number;
    }

    /**
     * Announces an operation of the calling thread.
     *
     * @return the slot, for {@link #exit}
     */
    static long enter(long mapping) {
        Thread thread = Thread.currentThread();
        int index = (int) thread.threadId() & (OWNED_SLOTS - 1);
        if (OWNERS[index] != thread) { // a racy read: only this thread ever stores itself
            return enterSlowly(mapping, thread, index);
        }
        long slot = SLOTS + ((long) index << SLOT_SHIFT);
        if (ASYMMETRIC) {
            RawMemory.putLongRelease(slot, mapping);
        } else {
            RawMemory.putLongVolatile(slot, mapping);
        }
        return slot;
    }

    static void exit(long slot) {
        RawMemory.putLongRelease(slot, 0);
    }

    private static long enterSlowly(long mapping, Thread thread, int index) {
        Thread owner = (Thread) OWNER.getVolatile(OWNERS, index);
        if ((owner == null || !owner.isAlive()) && OWNER.compareAndSet(OWNERS, index, owner, thread)) {
            return enter(mapping);
        }
        // Bounded: a slot is held for one copy each, never while waiting.
        for (int at = (int) thread.threadId(); ; at++) {
            long slot = SLOTS + ((OWNED_SLOTS + (long) (at & (SHARED_SLOTS - 1))) << SLOT_SHIFT);
            if (RawMemory.compareAndSetLong(slot, 0, mapping)) { // a full fence
                return slot;
            }
            Thread.onSpinWait();
        }
    }

    /**
     * Waits until every operation that was announced before the call for one of these mappings is over. Their rights must
     * have been taken away before. An operation is a copy, so it ends by itself.
     */
    static void awaitEnd(LongPredicate mappings) {
        if (ASYMMETRIC) {
            Membarrier.barrier();
        } else {
            VarHandle.fullFence();
        }
        for (int index = 0; index < OWNED_SLOTS + SHARED_SLOTS; index++) {
            long slot = SLOTS + ((long) index << SLOT_SHIFT);
            long mapping = RawMemory.getLongVolatile(slot);
            if (mapping == 0 || !mappings.test(mapping)) {
                continue;
            }
            for (int spins = 0; RawMemory.getLongVolatile(slot) == mapping; spins++) {
                Waiting.pause(spins);
            }
        }
    }
}
