package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
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
    private final Thread thread;
    private final Semaphore changed = new Semaphore(0); // one permit for every change since the last check
    private volatile boolean closed;

    private EpochKeeperThread(EpochKeeper keeper, Leadership leadership) {
        this.keeper = keeper;
        this.leadership = leadership;
        this.thread = Thread.ofPlatform().name("lite-epochs").daemon().unstarted(this::run);
    }

    static EpochKeeperThread start(EpochStore store, ClusterDirectory directory, Leadership leadership) {
        EpochKeeperThread keeping = new EpochKeeperThread(new EpochKeeper(store, leadership::isLeaderNow), leadership);
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

    private void run() {
        long waitMs = 0;
        while (awaitChange(waitMs)) {
            waitMs = work();
        }
    }

    /** Does all work that is possible now; returns after how many milliseconds to check again without a change. */
    private long work() {
        try {
            while (!closed && leadership.isLeader() && keeper.doWork(CALL) > 0) {
                log.trace("there may be more to do");
            }
            return leadership.isLeader() && keeper.isPending() ? PENDING_MS : IDLE_MS;
        } catch (ClusterUnavailableException e) {
            if (!closed) {
                log.info("Cannot update the epoch until the directory is reachable: {}", e.getMessage());
            }
            return RETRY_MS;
        } catch (RuntimeException e) {
            log.error("Updating the epoch failed; will retry", e);
            return RETRY_MS;
        }
    }

    /** Returns false when closed. */
    private boolean awaitChange(long ms) {
        try {
            if (changed.tryAcquire(ms, TimeUnit.MILLISECONDS)) {
                changed.drainPermits(); // one check covers all changes before it
            }
            return !closed;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // close() does that
            return false;
        }
    }

    /** Ends the thread and abandons a running request to the directory. Idempotent. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
