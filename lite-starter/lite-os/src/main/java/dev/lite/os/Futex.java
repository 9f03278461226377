package dev.lite.os;

/**
 * Waiting in the kernel for a 32-bit word of shared memory to change; the word may be mapped by several processes at different
 * addresses. Any thread; nothing is allocated on the heap.
 *
 * <p>The usual pattern: the waiter announces in shared memory that it sleeps, looks once more whether there is work, and awaits
 * the value it saw; the waker changes the word, and calls {@link #wake} when somebody announced to sleep.
 */
public final class Futex {
    private static final long FUTEX_WAIT = 0;
    private static final long FUTEX_WAKE = 1;

    private Futex() {}

    /** How a wait ended. */
    public enum Wait {
        /** Woken, or interrupted by a signal: the waiter looks again in either case. */
        WOKEN,
        /** The word did not hold the expected value any more. */
        CHANGED,
        /** The time is over. */
        TIMED_OUT
    }

    /**
     * Sleeps while the word holds the expected value, until {@link #wake} or the end of the time. A Java interrupt does not
     * end it.
     *
     * @param address of a mapped int, a multiple of 4
     * @param timeoutNs nanoseconds; 0 or less only looks
     * @throws OsException EFAULT when the address is not mapped
     */
    public static Wait await(long address, int expected, long timeoutNs) {
        Linux.require();
        requireAligned(address);
        var state = CallState.current();
        long timespec = state.timespec(Math.max(0, timeoutNs));
        if (Syscalls.syscall(state, Syscalls.FUTEX, address, FUTEX_WAIT, expected, timespec) == 0) {
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
     * Wakes waiters of the word, in whatever process they are.
     *
     * @param count how many at most
     * @return how many were woken
     */
    public static int wake(long address, int count) {
        Linux.require();
        requireAligned(address);
        var state = CallState.current();
        long woken = Syscalls.syscall(state, Syscalls.FUTEX, address, FUTEX_WAKE, count, 0);
        if (woken < 0) {
            throw new OsException("futex(wake, 0x%x)".formatted(address), state.errno());
        }
        return (int) woken;
    }

    private static void requireAligned(long address) {
        if ((address & (Integer.BYTES - 1)) != 0) {
            throw new IllegalArgumentException("a futex is aligned to 4 bytes; 0x%x is not".formatted(address));
        }
    }
}
