package dev.lite.os;

/** Watches one process through a pidfd, so that the result stays correct when its process id is reused. Any thread. */
public final class ProcessWatch implements AutoCloseable {
    private static final int POLLIN = 1;

    private final int pid;
    private final Descriptor descriptor;

    private ProcessWatch(int pid, int number) {
        this.pid = pid;
        descriptor = new Descriptor(number, "process " + pid);
    }

    /**
     * Starts to watch a process.
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

    /** Whether the process still runs; a zombie does not. */
    public boolean isAlive() {
        return !awaitExit(0);
    }

    /**
     * Waits until the process ends.
     *
     * @param timeoutNs nanoseconds; 0 or less returns immediately
     * @return whether the process has ended
     * @throws OsException EBADF when this is closed; closing it during the wait does not end the wait
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

    /** Returns 1 when the process has ended, 0 after the timeout, -1 after a signal. */
    private int poll(int number, long timeoutNs) {
        var state = CallState.current();
        int ready = Syscalls.ppoll(state, state.pollfd(number, POLLIN), 1, state.timespec(timeoutNs));
        if (ready < 0 && state.errno() != Errno.EINTR) {
            throw new OsException("ppoll(process %d)".formatted(pid), state.errno());
        }
        return ready;
    }

    /** Stops watching. Idempotent. */
    @Override
    public void close() {
        descriptor.close();
    }
}
