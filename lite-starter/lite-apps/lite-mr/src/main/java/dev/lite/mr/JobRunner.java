package dev.lite.mr;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs jobs of a group for an application that stays up. It opens a master for each job, and has nothing open in between: so the
 * application's replicas take turns, and a loss of the session fails at most the job under way.
 *
 * <p>The caller owns the session, and closes it after the runner. Any thread; jobs run one after the other.
 */
public final class JobRunner implements AutoCloseable {
    private final Lite lite;
    private final String group;
    private final Duration workerTimeout;
    private final Duration groupTimeout;
    private final ReentrantLock oneJob = new ReentrantLock(true);
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable MapReduce master;
    private JobStatus last = JobStatus.NONE;
    private boolean closed;

    /**
     * Creates a runner. Nothing is opened yet.
     *
     * @param group 1 to 64 characters
     * @param workerTimeout see {@link MapReduce#open(Lite, String, Duration)}
     * @param groupTimeout how long a job waits while another process runs jobs of the group
     */
    public JobRunner(Lite lite, String group, Duration workerTimeout, Duration groupTimeout) {
        MapReduce.checkGroup(group);
        MapReduce.checkWorkerTimeout(workerTimeout);
        this.lite = lite;
        this.group = group;
        this.workerTimeout = workerTimeout;
        this.groupTimeout = groupTimeout;
    }

    /** {@link #run(JobSpec, Consumer)} without progress. */
    public JobResult run(JobSpec spec) {
        return run(spec, status -> {});
    }

    /**
     * Runs a job, after those of other threads, and waits for its end; see {@link MapReduce#run(JobSpec, Consumer)}.
     *
     * @throws MrException if another process runs jobs of the group for too long, or the job fails
     * @throws LiteException if the node cannot be reached
     * @throws IllegalStateException if the runner is closed
     */
    public JobResult run(JobSpec spec, Consumer<JobStatus> progress) {
        oneJob.lock();
        try (MapReduce opened = open()) {
            try {
                return opened.run(spec, progress);
            } finally {
                end(opened.status());
            }
        } finally {
            oneJob.unlock();
        }
    }

    private MapReduce open() {
        checkOpen();
        MapReduce opened = MapReduce.open(lite, group, workerTimeout, groupTimeout);
        lock.lock();
        try {
            if (!closed) {
                master = opened;
                return opened;
            }
        } finally {
            lock.unlock();
        }
        opened.close();
        throw isClosed();
    }

    private void checkOpen() {
        lock.lock();
        try {
            if (closed) {
                throw isClosed();
            }
        } finally {
            lock.unlock();
        }
    }

    private IllegalStateException isClosed() {
        return new IllegalStateException("the runner of the group \"%s\" is closed".formatted(group));
    }

    private void end(JobStatus status) {
        lock.lock();
        try {
            last = status;
            master = null;
        } finally {
            lock.unlock();
        }
    }

    /** The job page of the running or the last job. Asks no node. */
    public JobStatus status() {
        lock.lock();
        try {
            return master == null ? last : master.status();
        } finally {
            lock.unlock();
        }
    }

    /** Closes the runner; a running job fails. A second call does nothing. */
    @Override
    public void close() {
        MapReduce running;
        lock.lock();
        try {
            closed = true;
            running = master;
        } finally {
            lock.unlock();
        }
        if (running != null) {
            running.close();
        }
    }
}
