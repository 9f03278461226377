package dev.lite.session.waiting;

import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.ThreadPriority;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.StagedWait;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Waits of virtual threads for words of shared memory. One virtual thread polls for all of them. After each event it yields, so that
 * the threads that the event concerns run next on its carrier, without a wake-up. Between its looks it gives the processor of its
 * carrier away, since the other side may need it. When nothing came for a while it parks, and a platform thread sleeps on the words of
 * all waits ({@link VirtualWaits}).
 *
 * <p>Only the polling thread ends a wait, and the waiting thread continues only after that. So the polling thread and, while it is
 * parked, the platform thread may read what belongs to a wait. Any thread.
 */
public final class PolledWaits {
    private static final int WAITS_MAX = Long.SIZE;
    /** A wait beyond the {@value #WAITS_MAX} that fit looks again after this time. */
    private static final long BEYOND_NS = 1_000_000;
    /** The polling thread lets others on its carrier run, and checks the deadlines, after so many looks. */
    private static final int LOOKS = 32;
    /** A look at so many waits takes about as long as a pause. */
    private static final int WAITS_PER_PAUSE = 4;

    /** After a failure of the polling thread. */
    private static final long FAILED_NS = 10_000_000;

    /** The one wait of the polling thread. */
    private static final int ALL = 0;

    /** What {@link Wait#poll} found. */
    public enum Polled {
        NOTHING,
        /** It did something, and the wait continues. */
        WORKED,
        OVER
    }

    /** What a virtual thread waits for. Nothing here may block. */
    public interface Wait {
        /** Does for the waiting thread what can be done without it. The polling thread. */
        Polled poll();

        /** Whether {@link #poll} would find something. */
        boolean isReady();

        /** Announces the sleep and adds its words; returns false if it is ready. */
        boolean announce(FutexWords words);
    }

    /** The wait for one slot. */
    public record SlotWait(VirtualWaits.Words words, int slot) implements Wait {
        @Override
        public Polled poll() {
            return isReady() ? Polled.OVER : Polled.NOTHING;
        }

        @Override
        public boolean isReady() {
            return words.isOver(slot);
        }

        @Override
        public boolean announce(FutexWords announced) {
            return words.announce(slot, announced);
        }
    }

    private final String name;
    private final StagedWait wait;
    private final VirtualWaits sleep;

    /** A bit for each slot that a thread uses. */
    private final AtomicLong used = new AtomicLong();
    /** A bit for each wait that is not over. */
    private final AtomicLong waiting = new AtomicLong();

    // By slot, written before the bit in waiting.
    private final AtomicReferenceArray<@Nullable Wait> waits = new AtomicReferenceArray<>(WAITS_MAX);
    private final AtomicReferenceArray<@Nullable Thread> threads = new AtomicReferenceArray<>(WAITS_MAX);
    private final long[] deadlinesNs = new long[WAITS_MAX];

    /** Counts the waits that began while the polling thread was parked; a futex word. */
    private final MemorySegment newcomers = Arena.ofAuto().allocate(Integer.BYTES, Integer.BYTES);
    /** The value of that when it parked. */
    private int newcomersSeen;

    private volatile boolean parked;
    private volatile boolean closed;
    /** The polling thread has ended, or ends waits for the last time. */
    private volatile boolean over;

    private volatile @Nullable Thread poller; // written under the lock

    /**
     * No waits yet, and no thread.
     *
     * @param name of the polling thread
     * @param spins the largest number of pauses before that thread yields its processor and then parks
     */
    public PolledWaits(String name, int spins) {
        this.name = name;
        wait = StagedWait.ofCarrier(spins, ThreadPriority::yieldProcessor);
        sleep = new VirtualWaits(new Words(), 0); // the polling thread has looked already
    }

    /** Waits until the wait is over, or about until the deadline. A virtual thread. */
    public void await(Wait mine, long deadlineNs) {
        if (poller == null) {
            start(); // before anything is noted: there may be no memory for a thread
        }
        int slot = take();
        if (slot < 0) {
            awaitBeyond(deadlineNs);
            return;
        }
        long bit = 1L << slot;
        deadlinesNs[slot] = deadlineNs;
        threads.set(slot, Thread.currentThread());
        waits.set(slot, mine);
        waiting.getAndUpdate(bits -> bits | bit);
        if (parked) { // either this thread sees that here, or the last look sees the bit
            wakePoller();
        }
        if (over) { // likewise
            end(slot);
        }
        boolean interrupted = false;
        while ((waiting.get() & bit) != 0) {
            LockSupport.park(this);
            interrupted |= Thread.interrupted();
        }
        used.getAndUpdate(slots -> slots & ~bit);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** An interrupt is kept, but does not end the sleep: the thread would not leave its carrier, and would keep others from it. */
    private static void awaitBeyond(long deadlineNs) {
        Polling.sleepThroughNs(Math.min(BEYOND_NS, deadlineNs - System.nanoTime()));
    }

    private int take() {
        while (true) {
            long slots = used.get();
            int slot = Long.numberOfTrailingZeros(~slots);
            if (slot == Long.SIZE) {
                return -1;
            }
            if (used.compareAndSet(slots, slots | 1L << slot)) {
                return slot;
            }
        }
    }

    private synchronized void start() {
        if (poller == null) {
            poller = Thread.ofVirtual().name(name).start(this::run);
        }
    }

    private void wakePoller() {
        RawMemory.getAndAddInt(newcomers.address(), 1);
        int unused = Futex.wake(newcomers.address(), 1);
    }

    /** Ends all waits, now and later. */
    public void close() {
        closed = true;
        sleep.lose();
    }

    private void run() {
        FailureReports reports = new FailureReports();
        while (!closed) {
            try {
                poll();
            } catch (Throwable failed) { // for example no memory for the thread that sleeps; later there may be some
                reports.report(failed);
                endAll(); // their threads look themselves, and wait again
                Polling.sleepNs(FAILED_NS);
            }
        }
        over = true;
        endAll();
    }

    private void endAll() {
        for (long bits = waiting.get(); bits != 0; bits &= bits - 1) {
            end(Long.numberOfTrailingZeros(bits));
        }
    }

    private void poll() {
        int first = begin();
        int left = first;
        for (int looks = 1; !closed; looks++) {
            boolean checks = left == 0 || looks % LOOKS == 0;
            if (look(checks)) {
                if (left != first) {
                    wait.hit(left);
                }
                first = left = begin();
                StagedWait.letOthersRun();
            } else if (left == 0) {
                park();
                first = left = begin();
            } else {
                left = wait.pause(left);
                if (checks) {
                    StagedWait.letOthersRun();
                }
            }
        }
    }

    private int begin() {
        return wait.begin(1 + Long.bitCount(waiting.get()) / WAITS_PER_PAUSE);
    }

    /** Polls for each wait once. Returns whether something was found. */
    private boolean look(boolean checksDeadlines) {
        boolean found = false;
        for (long bits = waiting.get(); bits != 0; bits &= bits - 1) {
            int slot = Long.numberOfTrailingZeros(bits);
            Wait its = waits.get(slot);
            Polled polled = its == null ? Polled.OVER : its.poll();
            if (polled == Polled.OVER || (checksDeadlines && deadlinesNs[slot] - System.nanoTime() <= 0)) {
                end(slot);
                found = true;
            } else if (polled == Polled.WORKED) {
                found = true;
            }
        }
        return found;
    }

    private void end(int slot) {
        Thread thread = threads.getAndSet(slot, null);
        waits.set(slot, null);
        long bit = 1L << slot;
        waiting.getAndUpdate(now -> now & ~bit); // from here on, the thread may give the slot back
        LockSupport.unpark(thread);
    }

    private void park() {
        parked = true; // before the last look, which is that of the platform thread
        try {
            newcomersSeen = newcomers();
            long deadlineNs = Long.MAX_VALUE / 2 + System.nanoTime();
            for (long bits = waiting.get(); bits != 0; bits &= bits - 1) {
                long itsNs = deadlinesNs[Long.numberOfTrailingZeros(bits)];
                if (itsNs - deadlineNs < 0) {
                    deadlineNs = itsNs;
                }
            }
            sleep.await(ALL, deadlineNs);
        } finally {
            parked = false;
        }
    }

    private int newcomers() {
        return RawMemory.getIntVolatile(newcomers.address());
    }

    /** What the polling thread waits for while it is parked: any of the waits, or another one. */
    private final class Words implements VirtualWaits.Words {
        @Override
        public boolean isOver(int all) {
            if (newcomers() != newcomersSeen) {
                return true;
            }
            for (long bits = waiting.get(); bits != 0; bits &= bits - 1) {
                Wait its = waits.get(Long.numberOfTrailingZeros(bits));
                if (its != null && its.isReady()) {
                    return true;
                }
            }
            return false;
        }

        @Override
        public boolean announce(int all, FutexWords words) {
            words.add(newcomers.address(), newcomersSeen);
            for (long bits = waiting.get(); bits != 0; bits &= bits - 1) {
                Wait its = waits.get(Long.numberOfTrailingZeros(bits));
                if (its != null && !its.announce(words)) {
                    return false;
                }
            }
            return true;
        }
    }
}
