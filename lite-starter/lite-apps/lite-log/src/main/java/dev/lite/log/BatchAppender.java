package dev.lite.log;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteTimeoutException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Collects transactions while the batch before is written, and commits them together. One thread writes; it starts at the first
 * transaction. Any thread adds.
 */
final class BatchAppender implements AutoCloseable {
    /** Bounds the memory: two batches of this size and one transaction each. */
    private static final int BATCH_BYTES_MAX = 256 << 10;

    private final String log;
    private final Appender appender;
    private final int batchBytesMax;
    private final Duration deadline;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    @GuardedBy("lock")
    private Batch open = new Batch();

    @GuardedBy("lock")
    private boolean started;

    @GuardedBy("lock")
    private boolean writing;

    @GuardedBy("lock")
    private boolean closed;

    /** Transactions that share a slot. */
    private static final class Batch {
        final Frame frame = new Frame();
        final List<CompletableFuture<Long>> futures = new ArrayList<>();

        void clear() {
            frame.clear();
            futures.clear();
        }
    }

    BatchAppender(String log, Appender appender, long transactionBytesMax, Duration deadline) {
        this.log = log;
        this.appender = appender;
        this.deadline = deadline;
        batchBytesMax = (int) Math.min(BATCH_BYTES_MAX, transactionBytesMax);
    }

    CompletableFuture<Long> add(List<MemorySegment> entries, long bytes) {
        CompletableFuture<Long> future = new CompletableFuture<>();
        lock.lock();
        try {
            awaitRoom(bytes);
            if (!started) {
                Thread.ofPlatform().daemon().name("lite-log " + log).start(this::write);
                started = true;
            }
            Batch batch = open;
            int length = batch.frame.length();
            boolean added = false;
            try {
                for (MemorySegment entry : entries) {
                    batch.frame.add(entry);
                }
                added = true;
            } finally {
                if (!added) { // the caller's memory cannot be read
                    batch.frame.truncate(length);
                }
            }
            batch.frame.endTransaction();
            batch.futures.add(future);
            if (batch.futures.size() == 1 && !writing) {
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
        return future;
    }

    @GuardedBy("lock")
    private void awaitRoom(long bytes) {
        long leftNs = deadline.toNanos();
        while (!closed && isFull(bytes)) {
            try {
                if (leftNs <= 0) {
                    throw new LiteTimeoutException(
                            "appendAsync to log \"%s\": %d transactions wait, and none was written within %s"
                                    .formatted(log, open.futures.size(), deadline));
                }
                leftNs = changed.awaitNanos(leftNs);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new LiteTimeoutException(
                        "appendAsync to log \"%s\" was interrupted while it waited for a batch".formatted(log));
            }
        }
        if (closed) {
            throw new LogStateException("the log \"%s\" is closed".formatted(log));
        }
    }

    @GuardedBy("lock")
    private boolean isFull(long bytes) {
        return open.futures.size() >= LogPosition.INDEX_MAX
                || (!open.futures.isEmpty() && open.frame.length() + bytes > batchBytesMax);
    }

    private void write() {
        Batch batch = new Batch();
        while (true) {
            lock.lock();
            try {
                writing = false;
                changed.signalAll();
                while (open.futures.isEmpty()) {
                    if (closed) {
                        return;
                    }
                    changed.awaitUninterruptibly();
                }
                Batch full = open;
                open = batch;
                batch = full;
                writing = true;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
            commit(batch);
            batch.clear();
        }
    }

    private void commit(Batch batch) {
        long position;
        try {
            position = appender.commit(batch.frame);
        } catch (Throwable e) { // also an Error: without this thread no further batch would be written
            batch.futures.forEach(future -> future.completeExceptionally(e));
            return;
        }
        for (int index = 0; index < batch.futures.size(); index++) {
            batch.futures.get(index).complete(position + index);
        }
    }

    /** Refuses further transactions, and waits until those that were added are written. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
            long leftNs = deadline.toNanos();
            while (leftNs > 0 && (writing || !open.futures.isEmpty())) {
                leftNs = changed.awaitNanos(leftNs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }
}
