package dev.lite.manager.web;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** A bounded queue of events for one subscriber. Any thread puts, one thread takes. */
final class EventQueue {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final int limit;

    // Guarded by the lock.
    private final ArrayDeque<ClusterEvent> waiting;
    private boolean ended;

    /**
     * @param limit the maximum number of waiting events
     * @param first the events that the subscriber gets first; not counted
     */
    EventQueue(int limit, List<ClusterEvent> first) {
        this.limit = limit + first.size();
        waiting = new ArrayDeque<>(first);
    }

    /** Puts an event. Returns false when the queue is full; it then accepts nothing more. */
    boolean offer(ClusterEvent event) {
        lock.lock();
        try {
            if (ended || waiting.size() >= limit) {
                ended = true;
            } else {
                waiting.addLast(event);
            }
            changed.signal();
            return !ended;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Takes the next event; empty after the timeout, or when the queue is closed and empty.
     *
     * @throws InterruptedException when the stream's thread is interrupted
     */
    Optional<ClusterEvent> poll(Duration timeout) throws InterruptedException {
        long leftNs = timeout.toNanos();
        lock.lockInterruptibly();
        try {
            while (waiting.isEmpty() && !ended && leftNs > 0) {
                leftNs = changed.awaitNanos(leftNs);
            }
            return Optional.ofNullable(waiting.pollFirst());
        } finally {
            lock.unlock();
        }
    }

    /** Whether the queue is empty and closed. */
    boolean isDone() {
        lock.lock();
        try {
            return ended && waiting.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /** Closes the queue and drops its events. */
    void end() {
        lock.lock();
        try {
            ended = true;
            waiting.clear();
            changed.signal();
        } finally {
            lock.unlock();
        }
    }
}
