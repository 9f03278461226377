package dev.lite.tier.onesided;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.Operation;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The bounce buffers of a {@link PostedMemory}. A thread that finds a free buffer takes no lock; other threads wait for
 * a buffer, up to their deadline. Any thread.
 */
final class BounceBuffers {
    private static final long POLL_NS = 20_000;

    private final BounceBuffer[] buffers;

    // Only threads that found no free buffer take this lock.
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition freed = lock.newCondition();
    private final AtomicInteger waiting = new AtomicInteger();

    /**
     * @param memory the address of the buffers' bytes, for this object only
     * @param count a power of two, at most {@link PostedMemory#BUFFERS_MAX}
     */
    BounceBuffers(long memory, int count) {
        buffers = new BounceBuffer[count];
        for (int index = 0; index < count; index++) {
            buffers[index] = new BounceBuffer(index, memory + (long) index * PostedMemory.BUFFER_BYTES);
        }
    }

    /** All buffers, free or not; read-only. */
    BounceBuffer[] all() {
        return buffers;
    }

    /** The buffer whose post has this context; null for an unknown or a former context. */
    @Nullable
    BounceBuffer of(long context) {
        int index = (int) (context & (PostedMemory.BUFFERS_MAX - 1));
        BounceBuffer buffer = index < buffers.length ? buffers[index] : null;
        return buffer != null && context == buffer.context() ? buffer : null;
    }

    /** Waits until no post of an abandoned operation is in flight; false if one still is at the deadline. */
    boolean awaitGivenUp(Deadline deadline) {
        for (BounceBuffer buffer : buffers) {
            if (!Polling.until(() -> !buffer.isGivenUp(), deadline, POLL_NS)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Takes all buffers, each when it is free, and keeps them: afterwards no thread touches their memory, and operations wait for one until
     * their deadlines. False if one was still in use at the deadline.
     */
    boolean takeAll(Deadline deadline) {
        for (BounceBuffer buffer : buffers) {
            if (!Polling.until(buffer::takeIfFree, deadline, POLL_NS)) {
                return false;
            }
        }
        return true;
    }

    /** Tries first the buffer that this thread had last; other threads rarely use it. */
    @Nullable
    BounceBuffer takeIfFree() {
        int first = (int) Thread.currentThread().threadId();
        for (int i = 0; i < buffers.length; i++) {
            BounceBuffer buffer = buffers[(first + i) & (buffers.length - 1)];
            if (buffer.takeIfFree()) {
                return buffer;
            }
        }
        return null;
    }

    /**
     * Adds those of the next buffers to a buffer that are free, until one is not. The thread has just taken it.
     *
     * @param most the largest number of buffers together
     * @return the number of buffers, which have one range of memory
     */
    int extend(BounceBuffer buffer, int most) {
        int count = 1;
        while (count < most && buffer.index + count < buffers.length && buffers[buffer.index + count].takeIfFree()) {
            count++;
        }
        buffer.followers = count - 1;
        return count;
    }

    boolean hasFree() {
        for (BounceBuffer buffer : buffers) {
            if (buffer.isFree()) {
                return true;
            }
        }
        return false;
    }

    BounceBuffer take(Operation operation, String node, Deadline deadline) {
        BounceBuffer ready = takeIfFree();
        return ready != null ? ready : awaitFree(operation, node, deadline);
    }

    private BounceBuffer awaitFree(Operation operation, String node, Deadline deadline) {
        lock.lock();
        waiting.incrementAndGet();
        try {
            while (true) {
                // A thread that releases a buffer after this check sees the waiter.
                BounceBuffer buffer = takeIfFree();
                if (buffer != null) {
                    return buffer;
                }
                long leftNs = deadline.remainingNs();
                if (leftNs == 0) {
                    throw new LiteTimeoutException(
                            deadline.expired("%s of memory on node %s, waiting for one of %d buffers"
                                    .formatted(operation, node, buffers.length)));
                }
                long unused = freed.awaitNanos(leftNs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LmrUnavailableException("interrupted in a %s of memory on node %s".formatted(operation, node), e);
        } finally {
            waiting.decrementAndGet();
            lock.unlock();
        }
    }

    /** Releases the buffer now, or when its post completes. */
    void abandon(BounceBuffer buffer) {
        if (!buffer.state.compareAndSet(BounceBuffer.POSTED, BounceBuffer.ABANDONED)) {
            release(buffer);
        }
    }

    void release(BounceBuffer buffer) {
        int last = buffer.index + buffer.followers;
        buffer.followers = 0;
        for (int index = buffer.index; index <= last; index++) {
            releaseOne(buffers[index]);
        }
    }

    private void releaseOne(BounceBuffer buffer) {
        if (buffer.state.getAndSet(BounceBuffer.FREE) == BounceBuffer.FREE) {
            throw new IllegalStateException("bounce buffer %d was released twice".formatted(buffer.index));
        }
        if (waiting.get() > 0) {
            lock.lock();
            try {
                freed.signal();
            } finally {
                lock.unlock();
            }
        }
    }
}
