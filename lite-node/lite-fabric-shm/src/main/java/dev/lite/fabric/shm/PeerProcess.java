package dev.lite.fabric.shm;

import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.ProcessWatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A process that was given this node's memory. What it has mapped nobody can take away from it, so it counts until it has
 * provably ended. Thread-safe.
 */
final class PeerProcess implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeerProcess.class);

    private final int pid;
    private @Nullable ProcessWatch watch; // guarded by this; null when there is nothing to watch (any more)
    private boolean ended; // guarded by this

    private PeerProcess(int pid, @Nullable ProcessWatch watch, boolean ended) {
        this.pid = pid;
        this.watch = watch;
        this.ended = ended;
    }

    /**
     * Begins to watch.
     *
     * @param pid 0 for a process that this one cannot see: in another container, with numbers of its own
     */
    static PeerProcess watch(int pid) {
        if (pid == ProcessHandle.current().pid()) {
            return new PeerProcess(pid, null, true); // a node of this process unmaps in order, or ends with it
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

    /** Whether it has the memory mapped for all that is known. */
    synchronized boolean isAlive() {
        ProcessWatch current = watch;
        if (!ended && current != null && !current.isAlive()) {
            ended = true;
            current.close();
            watch = null;
        }
        return !ended;
    }

    /** Whether it has ended, so that its number may be another one's. */
    boolean isForgotten() {
        return pid != ProcessHandle.current().pid() && !isAlive();
    }

    /** Ends the watch. */
    @Override
    public synchronized void close() {
        ProcessWatch current = watch;
        watch = null;
        if (current != null) {
            current.close();
        }
    }
}
