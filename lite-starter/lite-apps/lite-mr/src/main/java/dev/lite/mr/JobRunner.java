package dev.lite.mr;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs jobs of a group for an application that stays up: opens a master at the first job, keeps it, and opens another one if it lost the
 * lock of its group, for example because its node restarted. While it has the master, no other process of the group can run jobs.
 *
 * <p>The caller owns the session, and closes it after the runner. Any thread; jobs run one after the other.
 */
public final class JobRunner implements AutoCloseable {
    private final Lite lite;
    private final String group;
    private final Duration workerTimeout;
    private final ReentrantLock oneJob = new ReentrantLock(true);
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable MapReduce master;
    private boolean closed;

    /**
     * Creates a runner. Nothing is opened yet.
     *
     * @param group 1 to 64 characters
     * @param workerTimeout see {@link MapReduce#open(Lite, String, Duration)}
     */
    public JobRunner(Lite lite, String group, Duration workerTimeout) {
        MapReduce.checkGroup(group);
        this.lite = lite;
        this.group = group;
        this.workerTimeout = workerTimeout;
    }

    /** {@link #run(JobSpec, Consumer)} without progress. */
    public JobResult run(JobSpec spec) {
        return run(spec, status -> {});
    }

    /**
     * Runs a job, after those of other threads, and waits for its end; see {@link MapReduce#run(JobSpec, Consumer)}.
     *
     * @throws MrException if another process has the group's master, or the job fails
     * @throws LiteException if the node cannot be reached
     * @throws IllegalStateException if the runner is closed
     */
    public JobResult run(JobSpec spec, Consumer<JobStatus> progress) {
        oneJob.lock();
        try {
            return openedMaster().run(spec, progress);
        } finally {
            oneJob.unlock();
        }
    }

    private MapReduce openedMaster() {
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("the runner of the group \"%s\" is closed".formatted(group));
            }
            MapReduce known = master;
            if (known != null && !known.isOpen()) {
                master = null;
                known.close();
                known = null;
            }
            if (known == null) {
                known = MapReduce.open(lite, group, workerTimeout);
                master = known;
            }
            return known;
        } finally {
            lock.unlock();
        }
    }

    /** The job page of the running or the last job. Asks no node. */
    public JobStatus status() {
        lock.lock();
        try {
            return master == null ? JobStatus.NONE : master.status();
        } finally {
            lock.unlock();
        }
    }

    /** Ends the master; a running job fails. A second call does nothing. */
    @Override
    public void close() {
        MapReduce known;
        lock.lock();
        try {
            closed = true;
            known = master;
            master = null;
        } finally {
            lock.unlock();
        }
        if (known != null) {
            known.close();
        }
    }
}
