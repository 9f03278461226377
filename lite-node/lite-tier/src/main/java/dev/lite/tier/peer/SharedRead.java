package dev.lite.tier.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.Deadline;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * A read of the directory that concurrent callers share. A caller needs a read that begins after its call. So all callers that arrive
 * during a read share the next one. Any thread; blocks.
 */
final class SharedRead {
    private final String what;
    private final Consumer<Deadline> read;
    private final AtomicLong begun = new AtomicLong(); // the number of the last read
    private final ReentrantLock lock = new ReentrantLock();

    /** The number of the last read that succeeded. */
    @GuardedBy("lock")
    private long succeeded;

    /**
     * @param what the read in words, for messages
     * @param read reads and keeps the result; never called by two threads at a time
     */
    SharedRead(String what, Consumer<Deadline> read) {
        this.what = what;
        this.read = read;
    }

    /**
     * Returns when a read has succeeded that began after this call. If one fails, each of its callers tries again itself.
     *
     * @throws ClusterUnavailableException if the read of this caller fails, or cannot begin before the deadline
     */
    void read(Deadline deadline) {
        long needed = begun.get() + 1;
        if (!tryLock(deadline)) {
            throw new ClusterUnavailableException(deadline.expired(what));
        }
        try {
            if (succeeded < needed) {
                long number = begun.incrementAndGet();
                read.accept(deadline);
                succeeded = number;
            }
        } finally {
            lock.unlock();
        }
    }

    private boolean tryLock(Deadline deadline) {
        try {
            return lock.tryLock(deadline.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ClusterUnavailableException("interrupted in " + what, e);
        }
    }
}
