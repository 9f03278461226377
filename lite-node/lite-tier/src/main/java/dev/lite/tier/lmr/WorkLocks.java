package dev.lite.tier.lmr;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Function;

/**
 * A lock for each LMR on whose extents work runs, or which is being freed. Work can last as long as its deadline, so it must not delay
 * the other LMRs of its node. Bounded by the threads inside. Any thread; blocks.
 */
final class WorkLocks {
    private final Map<Long, Counted> locks = new ConcurrentHashMap<>();

    /** @param users the threads that have or want the lock */
    private record Counted(ReentrantReadWriteLock lock, int users) {
        Counted plus(int more) {
            return new Counted(lock, users + more);
        }
    }

    /** Runs work on an LMR, beside other work on it. */
    void shared(long lmrId, Runnable work) {
        locked(lmrId, ReentrantReadWriteLock::readLock, work);
    }

    /** Runs work on two LMRs, which may be the same. */
    void shared(long oneLmrId, long otherLmrId, Runnable work) {
        // In one order, so that work and freeing cannot deadlock.
        shared(Math.min(oneLmrId, otherLmrId), () -> shared(Math.max(oneLmrId, otherLmrId), work));
    }

    /** Runs the freeing of an LMR's extents while no work on them runs. */
    void exclusively(long lmrId, Runnable freeing) {
        locked(lmrId, ReentrantReadWriteLock::writeLock, freeing);
    }

    private void locked(long lmrId, Function<ReentrantReadWriteLock, Lock> side, Runnable run) {
        Counted counted = Objects.requireNonNull(locks.compute(
                lmrId, (id, before) -> before == null ? new Counted(new ReentrantReadWriteLock(), 1) : before.plus(1)));
        try {
            Lock lock = side.apply(counted.lock());
            lock.lock();
            try {
                run.run();
            } finally {
                lock.unlock();
            }
        } finally {
            locks.computeIfPresent(lmrId, (id, before) -> before.users() == 1 ? null : before.plus(-1));
        }
    }
}
