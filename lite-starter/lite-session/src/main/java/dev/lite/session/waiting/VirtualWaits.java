package dev.lite.session.waiting;

import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.StagedWait;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The waits of virtual threads for words of shared memory, one word for each slot. A virtual thread must not sleep on a futex, since
 * that would block its carrier. So it parks, and one platform thread ("lite-waits") sleeps on the words of all of them at once. That
 * thread starts with the first such wait, pauses and yields before it sleeps, and also ends waits at their deadlines. It can watch
 * {@linkplain Others other words} beside these. Any thread.
 *
 * <p>Until {@link #lose}, only that thread takes a slot out of {@link #waited}, and the slot's owner returns the slot only after
 * that. So it may read the memory of a slot in {@link #waited}. After that it reads none.
 */
public final class VirtualWaits {
    /** The largest number of slots. */
    public static final int SLOTS_MAX = 64;

    /** The words that are waited for. Called only for slots with a waiter, by one thread at a time; must not block. */
    public interface Words {
        /** Whether the wait for this slot is over. */
        boolean isOver(int slot);

        /**
         * Announces to the other side that it must wake the sleeper of this slot, and adds the slot's word, or words.
         *
         * @return false: it may not sleep; check {@link #isOver} again
         */
        boolean announce(int slot, FutexWords words);
    }

    /** Further words, for which no virtual thread waits. Called by one thread at a time; must not block. */
    public interface Others {
        /** No words. */
        Others NONE = new Others() {
            @Override
            public int endOver() {
                return 0;
            }

            @Override
            public boolean arePolled() {
                return false;
            }

            @Override
            public long announce(FutexWords words) {
                return SLEEP_NS_MAX;
            }

            @Override
            public void awoke() {}
        };

        /** Ends what is over; returns how much. */
        int endOver();

        /** Whether another thread does that: the platform thread need not stay awake for these words. */
        boolean arePolled();

        /**
         * Announces the sleep to the other side and adds the words; {@link #awoke} follows.
         *
         * @return the longest sleep of the platform thread for their sake, in nanoseconds; 0: something is over
         */
        long announce(FutexWords words);

        /** The platform thread does not sleep any more. */
        void awoke();
    }

    /** Makes the platform thread. */
    public static final ThreadFactory STARTER =
            Thread.ofPlatform().daemon().name("lite-waits").factory();

    private static final int AWAKE = 0;
    private static final int ASLEEP = 1;
    /** After a failure of the platform thread. */
    private static final long FAILED_NS = 10_000_000;

    private static final long SLEEP_NS_MAX = TimeUnit.SECONDS.toNanos(30);

    private final Words slots;
    private final Others others;
    private final ThreadFactory starter;
    private final StagedWait wait;
    /** A bit for each slot that a virtual thread waits for. */
    private final AtomicLong waited = new AtomicLong();

    private final AtomicReferenceArray<@Nullable Thread> threads = new AtomicReferenceArray<>(SLOTS_MAX);
    private final long[] deadlinesNs = new long[SLOTS_MAX]; // written before the slot's bit
    private final FutexWords words = new FutexWords();
    /** Whether the platform thread sleeps; a futex. */
    private final MemorySegment bell = Arena.ofAuto().allocate(Integer.BYTES, Integer.BYTES);

    /** All waits end, now and later. */
    private volatile boolean lost;

    /** The platform thread has ended, or ends waits for the last time. */
    private volatile boolean over;

    private volatile @Nullable Thread watcher; // written under the lock

    /**
     * No waits yet, and no thread.
     *
     * @param spins the largest number of pauses before the thread sleeps
     */
    public VirtualWaits(Words slots, int spins) {
        this(slots, spins, STARTER);
    }

    /**
     * No waits yet, and no thread.
     *
     * @param spins the largest number of pauses before the thread sleeps
     * @param starter makes the platform thread
     */
    public VirtualWaits(Words slots, int spins, ThreadFactory starter) {
        this(slots, Others.NONE, spins, starter);
    }

    /**
     * No waits yet, and no thread.
     *
     * @param others what the thread watches, too, after {@link #look}
     * @param spins the largest number of pauses before the thread sleeps
     * @param starter makes the platform thread
     */
    public VirtualWaits(Words slots, Others others, int spins, ThreadFactory starter) {
        this.slots = slots;
        this.others = others;
        this.starter = starter;
        this.wait = new StagedWait(spins);
    }

    /**
     * Waits until the slot's wait is over, the deadline passes, the platform thread fails or {@link #lose} is called. An interrupt
     * does not end the wait; it is kept for the caller.
     *
     * @param deadlineNs of {@link System#nanoTime}
     * @throws OutOfMemoryError if there is no memory for the platform thread; then nothing has happened
     */
    public void await(int slot, long deadlineNs) {
        prepare(); // before anything is noted: there may be no memory for a thread
        long bit = 1L << slot;
        deadlinesNs[slot] = deadlineNs;
        threads.set(slot, Thread.currentThread());
        waited.getAndUpdate(bits -> bits | bit);
        look();
        if (over) { // either this thread sees that here, or the last look sees the bit
            end(slot);
        }
        boolean interrupted = false;
        while ((waited.get() & bit) != 0) {
            LockSupport.park(this);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Starts the platform thread if there is none. Throws {@link OutOfMemoryError} if there is no memory for it. */
    public void prepare() {
        if (watcher == null) {
            start();
        }
    }

    private synchronized void start() {
        if (watcher == null) {
            Thread thread = starter.newThread(this::watch);
            thread.start();
            watcher = thread;
        }
    }

    /** The platform thread, if there is one, looks again before it sleeps the next time. Does not block. */
    public void look() {
        if (RawMemory.compareAndSetInt(bell.address(), ASLEEP, AWAKE)) {
            int unused = Futex.wake(bell.address(), 1);
        }
    }

    /** Ends all waits, now and later. The words of their slots may still be pending. */
    public void lose() {
        lost = true;
        look();
    }

    private void watch() {
        FailureReports reports = new FailureReports();
        while (!lost) {
            try {
                watchAndSleep();
            } catch (Throwable failed) { // without this thread, no wait would end any more
                reports.report(failed);
                endAll(); // their threads look themselves, and wait again
                Polling.sleepNs(FAILED_NS);
            }
        }
        over = true;
        endAll();
    }

    private void watchAndSleep() {
        int left = wait.begin(1);
        while (!lost) {
            if (endWaits() > 0) {
                wait.hit(left);
                left = wait.begin(1);
            } else if (left == 0 || (waited.get() == 0 && others.arePolled())) {
                break; // at once on a single processor
            } else {
                left = wait.pause(left);
            }
        }
        sleep();
    }

    private void endAll() {
        for (long bits = waited.get(); bits != 0; bits &= bits - 1) {
            end(Long.numberOfTrailingZeros(bits));
        }
    }

    /** Ends the waits that are over. Returns how many. */
    private int endWaits() {
        int count = lost ? 0 : others.endOver();
        for (long bits = waited.get(); bits != 0; bits &= bits - 1) {
            int slot = Long.numberOfTrailingZeros(bits);
            if (lost || slots.isOver(slot) || deadlinesNs[slot] - System.nanoTime() <= 0) {
                end(slot);
                count++;
            }
        }
        return count;
    }

    private void end(int slot) {
        Thread thread = threads.getAndSet(slot, null);
        long bit = 1L << slot;
        waited.getAndUpdate(now -> now & ~bit); // from here on, the owner may return the slot
        LockSupport.unpark(thread);
    }

    /** Sleeps until a word changes, a deadline passes, or another wait begins. */
    private void sleep() {
        RawMemory.getAndSetInt(bell.address(), ASLEEP);
        try {
            // Only now: a wait that begins later rings the bell.
            long bits = waited.get();
            if (lost) {
                return;
            }
            long sleepNs = SLEEP_NS_MAX;
            words.clear();
            words.add(bell.address(), ASLEEP);
            for (long rest = bits; rest != 0; rest &= rest - 1) {
                int slot = Long.numberOfTrailingZeros(rest);
                if (!slots.announce(slot, words)) {
                    return;
                }
                sleepNs = Math.min(sleepNs, deadlinesNs[slot] - System.nanoTime());
            }
            sleepWithOthers(sleepNs);
        } finally {
            RawMemory.getAndSetInt(bell.address(), AWAKE);
        }
    }

    private void sleepWithOthers(long sleepNs) {
        try {
            long othersNs = others.announce(words);
            if (othersNs > 0) {
                Futex.Wait unused = words.await(Math.min(sleepNs, othersNs));
            }
        } finally {
            others.awoke();
        }
    }
}
