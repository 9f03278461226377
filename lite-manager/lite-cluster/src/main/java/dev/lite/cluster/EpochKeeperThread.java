package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.RepeatingThread;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread "lite-epochs", on which a manager maintains the cluster's epochs while it leads. It wakes when the membership,
 * the epoch, the leadership or the directory's availability changes; in between it checks every {@value #PENDING_MS} ms
 * while acknowledgements are missing, and every {@value #IDLE_MS} ms otherwise.
 */
public final class EpochKeeperThread implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(EpochKeeperThread.class);
    private static final long PENDING_MS = 50;
    private static final long IDLE_MS = 5000;
    private static final long RETRY_MS = 500;
    private static final Duration CALL = Duration.ofSeconds(5);

    private final EpochKeeper keeper;
    private final Leadership leadership;
    private final ToIntFunction<Duration> spareWork;
    private final Thread thread;
    private final Semaphore changed = new Semaphore(0); // one permit for every change since the last check
    private long waitMs; // until the next check without a change; confined to the thread
    private volatile boolean closed;

    private EpochKeeperThread(EpochKeeper keeper, Leadership leadership, ToIntFunction<Duration> spareWork) {
        this.keeper = keeper;
        this.leadership = leadership;
        this.spareWork = spareWork;
        this.thread = RepeatingThread.unstarted("lite-epochs", this::step, log::error);
    }

    /** @param spareWork a part of other work of the leader, done while the epoch needs none; returns 0 if there is none left */
    static EpochKeeperThread start(
            EpochStore store, ClusterDirectory directory, Leadership leadership, ToIntFunction<Duration> spareWork) {
        EpochKeeperThread keeping =
                new EpochKeeperThread(new EpochKeeper(store, leadership::isLeaderNow), leadership, spareWork);
        leadership.addListener(leads -> keeping.changed.release());
        directory.addListener(new DirectoryListener() {
            @Override
            public void nodesChanged(List<NodeRecord> nodes) {
                keeping.changed.release();
            }

            @Override
            public void epochChanged(Epoch epoch) {
                keeping.changed.release();
            }

            @Override
            public void availabilityChanged(boolean available) {
                keeping.changed.release();
            }
        });
        keeping.thread.start();
        return keeping;
    }

    /** Waits for a change and does all work that it makes possible; false if this is closed. On the thread only. */
    private boolean step() throws InterruptedException {
        if (changed.tryAcquire(waitMs, TimeUnit.MILLISECONDS)) {
            changed.drainPermits(); // one check covers all changes before it
        }
        if (closed) {
            return false;
        }
        waitMs = RETRY_MS; // after a failure
        waitMs = work();
        return true;
    }

    /** Does all work that is possible now; returns after how many milliseconds to check again without a change. */
    private long work() {
        try {
            while (!closed
                    && leadership.isLeader()
                    && (keeper.doWork(CALL) > 0 || (!keeper.isPending() && spareWork.applyAsInt(CALL) > 0))) {
                log.trace("there may be more to do");
            }
            return leadership.isLeader() && keeper.isPending() ? PENDING_MS : IDLE_MS;
        } catch (ClusterUnavailableException e) {
            if (!closed) {
                log.info("Cannot update the epoch until the directory is reachable: {}", e.getMessage());
            }
            return RETRY_MS;
        }
    }

    /** Ends the thread and abandons a running request to the directory. Idempotent. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
