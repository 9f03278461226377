package dev.lite.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A wait for several futex words at once: see {@link Futex}. One thread. Needs Linux 5.16; {@link Futex} wakes it.
 *
 * <p>The words are of shared memory, which other processes may map at other addresses.
 */
public final class FutexWords {
    /** The largest number of words. */
    public static final int WORDS_MAX = 128;

    private static final int ENTRY_BYTES = 24;
    private static final int ADDRESS_AT = 8;
    private static final int FLAGS_AT = 16;
    private static final int SIZE_U32 = 2;
    private static final int CLOCK_MONOTONIC = 1;

    // The garbage collector frees it.
    private final MemorySegment entries = Arena.ofAuto().allocate((long) WORDS_MAX * ENTRY_BYTES, Long.BYTES);
    private int count;

    /** Forgets all words. */
    public void clear() {
        count = 0;
    }

    /**
     * Adds a word.
     *
     * @param address of a mapped int, a multiple of 4
     * @param expected the value with which the word is waited for
     * @throws IllegalStateException if there are {@value #WORDS_MAX} words already
     */
    public void add(long address, int expected) {
        Futex.requireAligned(address);
        if (count == WORDS_MAX) {
            throw new IllegalStateException("a wait for more than %d futex words".formatted(WORDS_MAX));
        }
        long at = (long) count * ENTRY_BYTES;
        entries.set(ValueLayout.JAVA_LONG, at, Integer.toUnsignedLong(expected));
        entries.set(ValueLayout.JAVA_LONG, at + ADDRESS_AT, address);
        entries.set(ValueLayout.JAVA_LONG, at + FLAGS_AT, SIZE_U32);
        count++;
    }

    /**
     * Blocks while every word holds its expected value, until one of them is woken or the timeout passes. A Java interrupt does not
     * end the wait.
     *
     * @param timeoutNs nanoseconds; 0 or less only checks
     * @throws OsException ENOSYS before Linux 5.16; EFAULT when an address is not mapped
     */
    public Futex.Wait await(long timeoutNs) {
        Linux.require();
        CallState state = CallState.current();
        long timespec = state.timespec(Futex.instant(timeoutNs));
        long result = Syscalls.syscall(
                state, Syscalls.FUTEX_WAITV, entries.address(), count, 0, timespec, CLOCK_MONOTONIC, 0);
        return Futex.ended(state, entries.address(), Math.min(0, result)); // the word's index, or -1
    }
}
