package dev.lite.fabric.shm;

import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.ProcessWatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A process that received this node's memory. Nobody can unmap the memory in that process, so the process counts as having it
 * mapped until it has provably ended. Thread-safe.
 */
final class PeerProcess implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeerProcess.class);

    private final int pid;
    private @Nullable ProcessWatch watch; // guarded by this; null if there is nothing to watch (any more)
    private boolean ended; // guarded by this

    private PeerProcess(int pid, @Nullable ProcessWatch watch, boolean ended) {
        this.pid = pid;
        this.watch = watch;
        this.ended = ended;
    }

    /**
     * Starts to watch a process.
     *
     * @param pid the process id; 0 if this process cannot see the peer's, because it is in another pid namespace
     */
    static PeerProcess watch(int pid) {
        if (pid == ProcessHandle.current().pid()) {
            return new PeerProcess(
                    pid, null, true); // a node of this process unmaps when it closes, or ends with the process
        }
        if (pid == 0) {
            LOG.warn(
                    "a peer's process cannot be seen from here (another pid namespace?): it is treated as alive until this node stops");
            return new PeerProcess(pid, null, false);
        }
        try {
            return new PeerProcess(pid, ProcessWatch.open(pid), false);
        } catch (OsException e) {
            if (e.errno() == Errno.ESRCH) {
                return new PeerProcess(pid, null, true);
            }
            throw e;
        }
    }

    /** Whether the process may still have the memory mapped. */
    synchronized boolean isAlive() {
        ProcessWatch current = watch;
        if (!ended && current != null && !current.isAlive()) {
            ended = true;
            current.close();
            watch = null;
        }
        return !ended;
    }

    /** Whether the process has ended, so that another process may have its id. */
    boolean isForgotten() {
        return pid != ProcessHandle.current().pid() && !isAlive();
    }

    /** Stops watching. */
    @Override
    public synchronized void close() {
        ProcessWatch current = watch;
        watch = null;
        if (current != null) {
            current.close();
        }
    }
}
