package dev.lite.os;

/**
 * Watches one process by a pidfd: the answer stays right when its number is given to another process later. Any thread.
 */
public final class ProcessWatch implements AutoCloseable {
    private static final int POLLIN = 1;

    private final int pid;
    private final Descriptor descriptor;

    private ProcessWatch(int pid, int number) {
        this.pid = pid;
        descriptor = new Descriptor(number, "process " + pid);
    }

    /**
     * Begins to watch.
     *
     * @throws OsException ESRCH when there is no such process
     */
    public static ProcessWatch open(int pid) {
        Linux.require();
        var state = CallState.current();
        long number = Syscalls.syscall(state, Syscalls.PIDFD_OPEN, pid, 0, 0, 0);
        if (number < 0) {
            throw new OsException("pidfd_open(%d)".formatted(pid), state.errno());
        }
        return new ProcessWatch(pid, (int) number);
    }

    /** Whether it still runs; a process that ended and was not yet waited for does not. */
    public boolean isAlive() {
        return !awaitExit(0);
    }

    /**
     * Waits for its end.
     *
     * @param timeoutNs nanoseconds; 0 or less only looks
     * @return whether it ended
     * @throws OsException EBADF when this was closed before; a close during the wait does not end it
     */
    public boolean awaitExit(long timeoutNs) {
        long start = System.nanoTime();
        int number = descriptor.acquire("ppoll");
        try {
            long left = timeoutNs;
            while (true) {
                int ready = poll(number, Math.max(0, left));
                if (ready >= 0) {
                    return ready > 0;
                }
                left = timeoutNs - (System.nanoTime() - start);
            }
        } finally {
            descriptor.release();
        }
    }

    /** 1 when the process ended, 0 when the time is over, -1 when a signal came in between. */
    private int poll(int number, long timeoutNs) {
        var state = CallState.current();
        int ready = Syscalls.ppoll(state, state.pollfd(number, POLLIN), 1, state.timespec(timeoutNs));
        if (ready < 0 && state.errno() != Errno.EINTR) {
            throw new OsException("ppoll(process %d)".formatted(pid), state.errno());
        }
        return ready;
    }

    /** Ends the watch. A second call does nothing. */
    @Override
    public void close() {
        descriptor.close();
    }
}
