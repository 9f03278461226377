package dev.lite.fabric.driver;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the items that a peer passed over a connection, by their tags, until they are taken. Keeps at most {@value #KEPT_MAX}; the next
 * one drops the oldest. Any thread, also a virtual one.
 *
 * @param <T> such as a descriptor
 */
public final class Arrivals<T> {
    /** The limit. */
    public static final int KEPT_MAX = 16;

    /** How many dropped tags are known. */
    public static final int DROPPED_MAX = 256;

    private final Consumer<T> closer;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    // Guarded by the lock.
    private final Map<Long, T> byTag = new LinkedHashMap<>(); // oldest first
    private final Set<Long> dropped = new LinkedHashSet<>(); // oldest first
    private boolean closed;

    /** @param closer closes one that nobody takes; must neither block nor throw */
    public Arrivals(Consumer<T> closer) {
        this.closer = closer;
    }

    /** Keeps what arrived, which this owns from now on, also if this fails. Closes one with the same tag that was not taken. */
    public void keep(long tag, T arrived) {
        boolean kept = false;
        lock.lock();
        try {
            if (closed || dropped.contains(tag)) { // the mark stays: a thread that waits may not have seen it yet
                return;
            }
            T before = byTag.remove(tag);
            if (before != null) {
                closer.accept(before);
            } else if (byTag.size() == KEPT_MAX) {
                drop(byTag.keySet().iterator().next());
            }
            changed.signalAll();
            byTag.put(tag, arrived);
            kept = true;
        } finally {
            try {
                if (!kept) { // also without memory for it
                    closer.accept(arrived);
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Waits for what the peer passes; the caller owns it.
     *
     * @param timeoutNs nanoseconds
     * @return null after the timeout, when closed or {@linkplain #drop dropped}, and when interrupted; then the thread stays interrupted
     */
    public @Nullable T take(long tag, long timeoutNs) {
        lock.lock();
        try {
            long leftNs = timeoutNs;
            while (true) {
                T arrived = byTag.remove(tag);
                if (arrived != null) {
                    return arrived;
                }
                if (closed || leftNs <= 0 || dropped.contains(tag)) {
                    return null;
                }
                leftNs = changed.awaitNanos(leftNs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** Nobody takes this any more: closes it if it is there, or else when it comes, and ends a wait for it. */
    public void drop(long tag) {
        lock.lock();
        try {
            T there = byTag.remove(tag);
            if (there != null) {
                closer.accept(there);
            }
            // Also if it has arrived: a thread that waits for it may not have seen it.
            if (closed || !dropped.add(tag)) {
                return;
            }
            if (dropped.size() > DROPPED_MAX) {
                dropped.remove(dropped.iterator().next());
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Closes what was not taken, and what still comes. Ends all waits. Idempotent. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            byTag.values().forEach(closer);
            byTag.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
