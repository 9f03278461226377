package dev.lite.os;

/**
 * A full memory barrier on every processor that runs a thread of this process, so that the more frequent of two
 * communicating threads needs no fence of its own. Any thread.
 */
public final class Membarrier {
    private static final long PRIVATE_EXPEDITED = 1 << 3;
    private static final long REGISTER_PRIVATE_EXPEDITED = 1 << 4;

    private Membarrier() {}

    /**
     * Registers this process with the kernel for {@link #barrier}. Idempotent.
     *
     * @return false when the kernel or a system call filter does not allow it
     */
    public static boolean register() {
        Linux.require();
        return Syscalls.syscall(CallState.current(), Syscalls.MEMBARRIER, REGISTER_PRIVATE_EXPEDITED, 0, 0, 0) == 0;
    }

    /**
     * Runs the barrier.
     *
     * @throws OsException EPERM when {@link #register} was not called or returned false
     */
    public static void barrier() {
        Linux.require();
        var state = CallState.current();
        if (Syscalls.syscall(state, Syscalls.MEMBARRIER, PRIVATE_EXPEDITED, 0, 0, 0) != 0) {
            throw new OsException("membarrier(PRIVATE_EXPEDITED)", state.errno());
        }
    }
}
