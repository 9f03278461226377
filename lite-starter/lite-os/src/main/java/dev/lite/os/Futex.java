package dev.lite.os;

/**
 * Blocks in the kernel until a 32-bit word of shared memory changes. Several processes may map the word at different
 * addresses. Any thread; allocates nothing on the heap.
 *
 * <p>The usual pattern: the waiter sets a "sleeping" flag in shared memory, checks once more for work, and then awaits the
 * value it read. The waker changes the word and calls {@link #wake} if the flag is set.
 */
public final class Futex {
    private static final long FUTEX_WAIT = 0;
    private static final long FUTEX_WAKE = 1;
    private static final long FUTEX_WAIT_BITSET = 9;
    private static final long FUTEX_WAKE_BITSET = 10;

    private Futex() {}

    /** How a wait ended. */
    public enum Wait {
        /** Woken, or interrupted by a signal: the waiter must check its condition again. */
        WOKEN,
        /** The word no longer held the expected value. */
        CHANGED,
        /** The timeout has passed. */
        TIMED_OUT
    }

    /**
     * Blocks while the word holds the expected value, until {@link #wake} or the timeout. A Java interrupt does not end the
     * wait.
     *
     * @param address of a mapped int, a multiple of 4
     * @param timeoutNs nanoseconds; 0 or less only checks
     * @throws OsException EFAULT when the address is not mapped
     */
    public static Wait await(long address, int expected, long timeoutNs) {
        Linux.require();
        requireAligned(address);
        var state = CallState.current();
        long timespec = state.timespec(Math.max(0, timeoutNs));
        return ended(state, address, Syscalls.syscall(state, Syscalls.FUTEX, address, FUTEX_WAIT, expected, timespec));
    }

    /**
     * {@link #await} for one of several events of the same word: only a {@link #wakeBits} that names one of these bits wakes
     * this thread. So one of many waiters can be woken without the others.
     *
     * @param bits not 0
     */
    public static Wait awaitBits(long address, int expected, int bits, long timeoutNs) {
        Linux.require();
        requireAligned(address);
        var state = CallState.current();
        long timespec = state.timespec(instant(timeoutNs));
        long result = Syscalls.syscall(
                state, Syscalls.FUTEX, address, FUTEX_WAIT_BITSET, expected, timespec, 0, Integer.toUnsignedLong(bits));
        return ended(state, address, result);
    }

    /** When a timeout passes, by the clock of the waits that take an instant. */
    static long instant(long timeoutNs) {
        long nowNs = System.nanoTime();
        return nowNs + Math.clamp(timeoutNs, 0, Long.MAX_VALUE - nowNs);
    }

    static Wait ended(CallState state, long address, long result) {
        if (result == 0) {
            return Wait.WOKEN;
        }
        int errno = state.errno();
        return switch (errno) {
            case Errno.EAGAIN -> Wait.CHANGED;
            case Errno.ETIMEDOUT -> Wait.TIMED_OUT;
            case Errno.EINTR -> Wait.WOKEN;
            default -> throw new OsException("futex(wait, 0x%x)".formatted(address), errno);
        };
    }

    /**
     * Wakes threads that wait for the word, in any process.
     *
     * @param count the maximum number of threads to wake
     * @return how many were woken
     */
    public static int wake(long address, int count) {
        Linux.require();
        requireAligned(address);
        var state = CallState.current();
        return woken(state, address, Syscalls.syscall(state, Syscalls.FUTEX, address, FUTEX_WAKE, count, 0));
    }

    /**
     * Wakes the threads that wait for one of these bits of the word, in any process: see {@link #awaitBits}.
     *
     * @return how many were woken
     */
    public static int wakeBits(long address, int bits) {
        Linux.require();
        requireAligned(address);
        var state = CallState.current();
        long result = Syscalls.syscall(
                state,
                Syscalls.FUTEX,
                address,
                FUTEX_WAKE_BITSET,
                Integer.MAX_VALUE,
                0,
                0,
                Integer.toUnsignedLong(bits));
        return woken(state, address, result);
    }

    private static int woken(CallState state, long address, long woken) {
        if (woken < 0) {
            throw new OsException("futex(wake, 0x%x)".formatted(address), state.errno());
        }
        return (int) woken;
    }

    static void requireAligned(long address) {
        if ((address & (Integer.BYTES - 1)) != 0) {
            throw new IllegalArgumentException("a futex is aligned to 4 bytes; 0x%x is not".formatted(address));
        }
    }
}
