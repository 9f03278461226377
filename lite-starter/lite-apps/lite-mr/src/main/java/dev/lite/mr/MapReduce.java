package dev.lite.mr;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * The master of a group of workers: runs jobs, one after the other. A group has one master at a time.
 *
 * <p>The caller owns the session, and closes it after the master. Any thread.
 */
public final class MapReduce implements AutoCloseable {
    /** How long a worker may do nothing at all before it is lost, unless {@link #open(Lite, String, Duration)} says otherwise. */
    public static final Duration WORKER_TIMEOUT_DEFAULT = Duration.ofSeconds(10);

    /** The longest name of a group or a worker, in characters. */
    public static final int GROUP_CHARS_MAX = 64;

    private static final int CALLS_MAX = 4096;
    private static final Duration LOCK_WAIT = Duration.ofMillis(500);
    private static final Duration PROGRESS = Duration.ofMillis(500);

    private final Lite lite;
    private final String group;
    private final HeldLock lock;
    private final Crew crew;
    private final RpcServer server;
    private final ReentrantLock oneJob = new ReentrantLock();

    private MapReduce(Lite lite, String group, Duration workerTimeout, HeldLock lock) {
        this.lite = lite;
        this.group = group;
        this.lock = lock;
        crew = new Crew(lite, workerTimeout);
        server = lite.rpc().register(function(group), CALLS_MAX, crew);
    }

    /** Opens a master with the default timeout of workers. */
    public static MapReduce open(Lite lite, String group) {
        return open(lite, group, WORKER_TIMEOUT_DEFAULT);
    }

    /**
     * Opens a master. Workers of the group find it within a second.
     *
     * @param lite its principal is the one that may read inputs and write the output
     * @param group 1 to 64 characters
     * @param workerTimeout how long a worker may do nothing at all before it is lost; a killed worker is lost at once
     * @throws MrException if the group has a master
     * @throws LiteException if the node cannot be reached
     * @throws IllegalArgumentException if the group has no or too many characters, or the timeout is not positive
     */
    public static MapReduce open(Lite lite, String group, Duration workerTimeout) {
        return open(lite, group, workerTimeout, LOCK_WAIT);
    }

    /** Waits for another master of the group to close. */
    static MapReduce open(Lite lite, String group, Duration workerTimeout, Duration lockWait) {
        checkGroup(group);
        checkWorkerTimeout(workerTimeout);
        HeldLock lock;
        try {
            lock = lite.sync().lock(function(group)).acquire(lockWait);
        } catch (LiteTimeoutException e) {
            throw new MrException("the group \"%s\" has a master already".formatted(group), e);
        }
        boolean opened = false;
        try {
            MapReduce master = new MapReduce(lite, group, workerTimeout, lock);
            opened = true;
            return master;
        } finally {
            if (!opened) {
                lock.close();
            }
        }
    }

    static void checkGroup(String group) {
        if (group.isBlank() || group.length() > GROUP_CHARS_MAX) {
            throw new IllegalArgumentException(
                    "the group \"%s\" must have 1 to %d characters".formatted(group, GROUP_CHARS_MAX));
        }
    }

    static void checkWorkerTimeout(Duration timeout) {
        if (!timeout.isPositive()) {
            throw new IllegalArgumentException("the timeout of workers is %s; it must be positive".formatted(timeout));
        }
    }

    static String function(String group) {
        return "lite-mr/" + group;
    }

    /** {@link #run(JobSpec, Consumer)} without progress. */
    public JobResult run(JobSpec spec) {
        return run(spec, status -> {});
    }

    /**
     * Runs a job, and waits for its end. There is no deadline: a job ends when it is done, when it fails, or when there is no worker for
     * {@link JobSpec#workerWait}.
     *
     * @param progress gets the job page about twice a second, on this thread
     * @throws MrException if the job cannot start or fails, another one is running, or the session was lost since the master was opened; no
     *     live worker has anything of it allocated
     */
    public JobResult run(JobSpec spec, Consumer<JobStatus> progress) {
        if (!oneJob.tryLock()) {
            throw new MrException("a job is running; a master runs one at a time");
        }
        try {
            if (!lock.isHeld()) {
                throw new MrException(
                        "the master of the group \"%s\" is closed, or lost its session, and another one may have the group: close it and open another one"
                                .formatted(group));
            }
            return runChecked(spec, progress);
        } catch (LiteException e) {
            throw new MrException("the job %s failed: %s".formatted(spec.job().getName(), e.getMessage()), e);
        } finally {
            oneJob.unlock();
        }
    }

    private JobResult runChecked(JobSpec spec, Consumer<JobStatus> progress) {
        Preparation prepared = Preparation.of(lite, spec);
        Plan plan = new Plan(prepared.splits(), spec.partitions());
        try (Crew.Current current = crew.begin(spec, plan)) {
            ResultWriter writer = new ResultWriter(lite, spec, prepared.job(), lock);
            while (true) {
                while (!current.awaitResult(PROGRESS)) {
                    progress.accept(crew.status());
                }
                try {
                    writer.write(plan.root().run);
                    break;
                } catch (LiteException e) {
                    if (!Losses.isLoss(e)) {
                        throw e;
                    }
                    current.awaitLossOfResult(e);
                }
            }
            progress.accept(crew.status());
            Map<String, Long> counters = current.counters();
            return new JobResult(writer.pairs(), writer.pairCount(), counters, current.again());
        }
    }

    /** The job page. Asks no node. */
    public JobStatus status() {
        return crew.status();
    }

    /** The number of live workers. */
    public int workers() {
        return crew.status().workers().size();
    }

    /** Ends the master. A running job fails. Its workers wait for the next master. A second call does nothing. */
    @Override
    public void close() {
        List<AutoCloseable> parts = List.of(server, crew, lock);
        for (AutoCloseable part : parts) {
            try {
                part.close();
            } catch (Exception e) {
                // The session has ended, and with it all of them.
            }
        }
    }
}
