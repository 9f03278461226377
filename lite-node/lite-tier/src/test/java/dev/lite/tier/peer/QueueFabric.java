package dev.lite.tier.peer;

import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A fabric whose events are waits: a poll ends the waits that were put into it. Its own waits never time out. */
final class QueueFabric extends UnconnectedFabric {
    final ConcurrentLinkedQueue<Flag> queue = new ConcurrentLinkedQueue<>();
    final AtomicReference<@Nullable String> violation = new AtomicReference<>();
    final AtomicInteger polls = new AtomicInteger();
    final AtomicInteger arms = new AtomicInteger();
    final AtomicInteger briefArms = new AtomicInteger();
    /** What the next poll throws. */
    final AtomicReference<@Nullable Error> defect = new AtomicReference<>();
    /** What the next {@link #arm} throws. */
    final AtomicReference<@Nullable Error> armDefect = new AtomicReference<>();
    /** Runs once when {@link #arm} has found nothing. */
    final AtomicReference<@Nullable Runnable> afterArm = new AtomicReference<>();
    /** Runs before each poll of a thread other than the standby thread. */
    volatile Runnable beforePoll = () -> {};
    /** What its name throws, which is part of each message. */
    volatile @Nullable Error nameDefect;
    /** What the next {@link #disarm} throws. */
    final AtomicReference<@Nullable Error> disarmDefect = new AtomicReference<>();

    private final AtomicReference<@Nullable Thread> holder = new AtomicReference<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private boolean armed;
    private boolean called;
    private boolean kept;
    private boolean woken;
    private volatile boolean closed;
    /** The standby thread has slept. */
    volatile boolean standingBy;
    /** How long the standby thread would have slept each time. */
    final Deque<Long> standbyNs = new ConcurrentLinkedDeque<>();

    void put(Flag flag) {
        queue.add(flag);
        lock.lock();
        try {
            called |= armed;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Whether the standby thread runs no further, although it is woken. */
    void keepStandby(boolean now) {
        lock.lock();
        try {
            kept = now;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private static void throwOnce(AtomicReference<@Nullable Error> defect) {
        Error thrown = defect.getAndSet(null);
        if (thrown != null) {
            throw thrown;
        }
    }

    private void enter() {
        if (!holder.compareAndSet(null, Thread.currentThread())) {
            violation.set("two threads hold the role");
        }
    }

    @Override
    public int poll(int limit) {
        if (!Thread.currentThread().getName().startsWith("lite-poll-")) {
            beforePoll.run();
        }
        enter();
        polls.incrementAndGet();
        Error thrown = defect.getAndSet(null);
        if (thrown != null) {
            holder.set(null);
            throw thrown;
        }
        int count = 0;
        for (Flag flag = queue.poll(); flag != null; flag = count < limit ? queue.poll() : null) {
            flag.come();
            count++;
        }
        holder.set(null);
        return count;
    }

    @Override
    public void await(long timeoutNs) {
        enter();
        if (Thread.currentThread().isVirtual()) {
            violation.set("a virtual thread blocks in the fabric");
        }
        lock.lock();
        try {
            while (queue.isEmpty() && !woken && !closed) {
                changed.await(); // without a timeout, so that a missing wake-up shows
            }
            woken = false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
            holder.set(null);
        }
    }

    @Override
    public boolean arm() {
        throwOnce(armDefect);
        enter();
        arms.incrementAndGet();
        boolean idle;
        lock.lock();
        try {
            armed = true;
            idle = queue.isEmpty();
        } finally {
            lock.unlock();
        }
        Runnable after = idle ? afterArm.getAndSet(null) : null;
        if (after != null) {
            after.run();
        }
        holder.set(null);
        return idle;
    }

    @Override
    public boolean armBriefly() {
        briefArms.incrementAndGet();
        return arm();
    }

    @Override
    public void disarm() {
        throwOnce(disarmDefect);
        lock.lock();
        try {
            armed = false;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void awaitArmed(long timeoutNs) {
        standbyNs.add(timeoutNs);
        lock.lock();
        try {
            while ((!called || kept) && !closed) {
                standingBy = true;
                changed.await();
            }
            called = false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void wakeup() {
        lock.lock();
        try {
            woken = true;
            called = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        closed = true;
    }

    @Override
    public String name() {
        Error thrown = nameDefect;
        if (thrown != null) {
            throw thrown;
        }
        return "queue";
    }

    /** A wait for an event. */
    static class Flag extends PollWaiter {
        private final boolean request;
        private volatile boolean over;

        Flag() {
            this(false);
        }

        Flag(boolean request) {
            this.request = request;
        }

        @Override
        protected boolean isOver() {
            return over;
        }

        @Override
        protected boolean isRequest() {
            return request;
        }

        void come() {
            over = true;
            signal();
        }

        /** Ends the wait without a signal. */
        void comeQuietly() {
            over = true;
        }

        void reset() {
            over = false;
        }
    }
}
