package dev.lite.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A wait for several futex words at once: see {@link Futex}. One thread. {@link Futex} wakes it. Before Linux 5.16 a wait for more
 * than one word sleeps on the last one. Such a wait, and one with more than {@value #WORDS_MAX} words, ends after at most
 * {@value #PART_NS_MAX} ns.
 *
 * <p>The words are of shared memory, which other processes may map at other addresses.
 */
public final class FutexWords {
    /** The largest number of words on which a thread sleeps at once. */
    public static final int WORDS_MAX = 128;

    private static final long PART_NS_MAX = 1_000_000;
    private static final int ENTRY_BYTES = 24;
    private static final int ADDRESS_AT = 8;
    private static final int FLAGS_AT = 16;
    private static final int SIZE_U32 = 2;
    private static final int CLOCK_MONOTONIC = 1;

    // The garbage collector frees it.
    private final MemorySegment entries = Arena.ofAuto().allocate((long) WORDS_MAX * ENTRY_BYTES, Long.BYTES);
    private int count;
    private long last;
    private int lastExpected;
    /** There are more words than fit. */
    private boolean more;
    /** There is no wait for several words. */
    private boolean single;

    /** Whether this process has a wait for several words: since Linux 5.16, unless its container forbids it. */
    public static boolean isSupported() {
        Linux.require();
        CallState state = CallState.current();
        long none = Syscalls.syscall(state, Syscalls.FUTEX_WAITV, 0, 0, 0, 0);
        return none < 0 && state.errno() == Errno.EINVAL; // there are no words
    }

    /** Forgets all words. */
    public void clear() {
        count = 0;
        more = false;
    }

    /**
     * Adds a word.
     *
     * @param address of a mapped int, a multiple of 4
     * @param expected the value with which the word is waited for
     */
    public void add(long address, int expected) {
        Futex.requireAligned(address);
        if (count == WORDS_MAX) {
            more = true;
            return;
        }
        long at = (long) count * ENTRY_BYTES;
        entries.set(ValueLayout.JAVA_LONG, at, Integer.toUnsignedLong(expected));
        entries.set(ValueLayout.JAVA_LONG, at + ADDRESS_AT, address);
        entries.set(ValueLayout.JAVA_LONG, at + FLAGS_AT, SIZE_U32);
        count++;
        last = address;
        lastExpected = expected;
    }

    /**
     * Blocks while every word holds its expected value, until one of them is woken or the timeout passes. A Java interrupt does not
     * end the wait.
     *
     * @param timeoutNs nanoseconds; 0 or less only checks
     * @throws OsException EFAULT when an address is not mapped
     * @throws IllegalStateException without a word
     */
    public Futex.Wait await(long timeoutNs) {
        if (count == 0) {
            throw new IllegalStateException("a wait for no futex word");
        }
        if (count == 1) {
            return Futex.await(last, lastExpected, timeoutNs);
        }
        long leftNs = more || single ? Math.min(timeoutNs, PART_NS_MAX) : timeoutNs;
        if (single) {
            return Futex.await(last, lastExpected, leftNs);
        }
        Linux.require();
        CallState state = CallState.current();
        long timespec = state.timespec(Futex.instant(leftNs));
        long result = Syscalls.syscall(
                state, Syscalls.FUTEX_WAITV, entries.address(), count, 0, timespec, CLOCK_MONOTONIC, 0);
        // Containers of older engines refuse calls that they do not know with EPERM.
        if (result < 0 && (state.errno() == Errno.ENOSYS || state.errno() == Errno.EPERM)) {
            single = true;
            return await(timeoutNs);
        }
        return Futex.ended(state, entries.address(), Math.min(0, result)); // the word's index, or -1
    }
}
