package dev.lite.manager.web;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Events that wait for one subscriber. Any thread puts, one takes. */
final class EventQueue {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final int limit;

    // Guarded by the lock.
    private final ArrayDeque<ClusterEvent> waiting;
    private boolean ended;

    /**
     * @param limit of events that wait
     * @param first what the subscriber gets first; not counted
     */
    EventQueue(int limit, List<ClusterEvent> first) {
        this.limit = limit + first.size();
        waiting = new ArrayDeque<>(first);
    }

    /** Puts an event; false when there is no room, and then the queue takes nothing more. */
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
     * The next event, or empty when none came in time or none will come.
     *
     * @throws InterruptedException when the stream's thread is told to stop
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

    /** Whether nothing waits and nothing will come. */
    boolean isDone() {
        lock.lock();
        try {
            return ended && waiting.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /** Takes nothing more, and forgets what waits. */
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
