package dev.lite.os;

/**
 * A full memory barrier on every processor that runs a thread of this process, so that the frequent side of a pair of threads
 * needs none of its own. Any thread.
 */
public final class Membarrier {
    private static final long PRIVATE_EXPEDITED = 1 << 3;
    private static final long REGISTER_PRIVATE_EXPEDITED = 1 << 4;

    private Membarrier() {}

    /**
     * Tells the kernel that this process will call {@link #barrier}; may be called again.
     *
     * @return false when this kernel (or a filter of system calls) does not offer it
     */
    public static boolean register() {
        Linux.require();
        return Syscalls.syscall(CallState.current(), Syscalls.MEMBARRIER, REGISTER_PRIVATE_EXPEDITED, 0, 0, 0) == 0;
    }

    /**
     * The barrier.
     *
     * @throws OsException EPERM when {@link #register} was not called or answered false
     */
    public static void barrier() {
        Linux.require();
        var state = CallState.current();
        if (Syscalls.syscall(state, Syscalls.MEMBARRIER, PRIVATE_EXPEDITED, 0, 0, 0) != 0) {
            throw new OsException("membarrier(PRIVATE_EXPEDITED)", state.errno());
        }
    }
}
