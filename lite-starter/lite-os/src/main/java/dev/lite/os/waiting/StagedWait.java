package dev.lite.os.waiting;

import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How a thread waits for a condition: first it pauses, then it yields its processor, then it sleeps. The sleep is the caller's own,
 * with a bell that others ring. The caller polls the condition between the steps.
 *
 * <pre>
 *   int left = wait.begin(1);
 *   while (!poll()) {
 *       if (left == 0) {
 *           announce the sleep, poll once more, sleep
 *           left = wait.begin(1);
 *       } else {
 *           left = wait.pause(left);
 *       }
 *   }
 *   wait.hit(left);
 * </pre>
 *
 * <p><b>Pauses</b> pay while the other side runs on another processor. When others are busy, pausing only keeps the other side
 * from running. A wait whose pauses all passed without success is a miss. Each miss halves the pauses, down to
 * 1/{@value #LEAST_SHARE}. After a few misses, one wait tries all of them again. Each such try that misses doubles the number of
 * waits before the next one, up to {@value #TRY_AFTER_MAX}. Two sides that put each other to sleep recover within a few rounds; two
 * that share a processor pay little for the tries.
 *
 * <p><b>Yields</b> let the other side run on the same processor at the cost of a switch, a tenth of a wake-up. They also show the
 * kernel two threads that want to run, so that it moves one to another processor. Beside a busy process, almost every yield gives
 * away a whole time slice. So a yield that takes longer than {@value #LATE_NS} ns is <i>late</i>, and ends the wait. If fewer than
 * {@value #HITS_BETWEEN} waits succeeded by yields since the last late one, the next {@value #WITHOUT_YIELDS_MIN} waits make no
 * yields; twice as many each time, up to {@value #WITHOUT_YIELDS_MAX}. Otherwise the late yield was an exception, as when the host
 * takes the processor from a virtual machine, and yields continue. Such an exception makes the yields of all waiting threads late,
 * so late yields that overlap count as one.
 *
 * <p><b>Ready.</b> A thread whose first poll succeeds again and again serves several others. They may need its processor, but it
 * never sleeps nor yields, so it keeps the processor until the system takes it away. After {@value #READY_IN_A_ROW} such waits in a
 * row, which it {@linkplain #ready reports}, a wait skips its pauses, if a poll costs more than one pause. (When polls cost nothing,
 * a pause is so short that skipping it costs several times as much.)
 *
 * <p><b>Giving way.</b> Such a thread also yields once in {@value #GIVE_WAY_EVERY} of these waits, if the caller
 * {@linkplain #giveWay says so}. Otherwise those that wait on its processor run only when its time slice ends, which made
 * each of their calls twenty times as long as those of threads on the other processor. After a late yield it gives no
 * way for {@value #LATE_PART} times as long as that took: beside a busy process it loses little.
 *
 * <p>Any number of threads share one object. Updates may be lost, which only slows the adaptation down. Nothing is allocated.
 */
public final class StagedWait {
    private static final int LEAST_SHARE = 64;
    private static final int TRY_AFTER_MIN = 4;
    private static final int TRY_AFTER_MAX = 64;

    private static final int YIELDS_MAX = 100;
    private static final int LATE_NS = 200_000;
    private static final int WITHOUT_YIELDS_MIN = 64;
    private static final int WITHOUT_YIELDS_MAX = 1 << 14;
    /** After so many waits that succeeded by yields, a late yield is an exception. */
    private static final int HITS_BETWEEN = 16;

    /** So many pauses lie between two yields of a {@linkplain #ofFollowers mixed} wait. */
    static final int PAUSES_BETWEEN = 16;

    /** So many waits are mixed after a miss. */
    static final int MIXED_WAITS = 256;

    /** After so many waits in a row that ended at their first poll, waits skip their pauses. */
    static final int READY_IN_A_ROW = 2;

    /** One in so many waits that ended at their first poll gives way. */
    static final int GIVE_WAY_EVERY = 2;

    /** After a late yield, a thread gives no way for so many times as long. */
    static final int LATE_PART = 64;

    // What is left of a wait: the pauses above the yields.
    private static final int YIELD_BITS = 8;
    private static final int YIELD_MASK = (1 << YIELD_BITS) - 1;
    private static final int PAUSE = 1 << YIELD_BITS;
    private static final int PAUSES_MAX = Integer.MAX_VALUE >> YIELD_BITS;

    /** Gives the processor away in place of a yield; null: the thread yields. */
    private final @Nullable Runnable giveProcessor;

    /** Tells how long a yield takes, in nanoseconds. */
    private final LongSupplier clock;

    private final boolean eachLateYieldCounts;
    /** Whether the pauses are mixed with yields after a miss. */
    private final boolean mixes;

    private final int all;
    private final int least;
    private final int yields;

    private int pauses;
    /** How many misses lie between two tries of all pauses. */
    private int tryAfter = TRY_AFTER_MIN;

    private int untilTry = TRY_AFTER_MIN;

    /** How many of the next waits are mixed. */
    private int mixed;

    /** How many of the next waits make no yields. */
    private int withoutYields;

    /** Waits in a row that ended at their first poll; no more than {@link #READY_IN_A_ROW}. */
    private int ready;

    /** How many waits make no yields after the next late yield. */
    private int withoutYieldsNext = WITHOUT_YIELDS_MIN;

    /** Waits that succeeded by yields since the last late yield; no more than {@link #HITS_BETWEEN}. */
    private int hitsByYields;

    /** The end of the last late yield that counted. */
    private long lateUntilNs;

    /** Waits that ended at their first poll since a thread gave way. */
    private int waysKept;

    /** When a thread may give way again. */
    private long giveWayFromNs;

    /**
     * Begins with all pauses.
     *
     * @param pauses the largest number of pauses in a wait, and of yields after them if that is fewer than
     *     {@value #YIELDS_MAX}; with 0 a thread sleeps at once
     */
    public StagedWait(int pauses) {
        this(pauses, null, System::nanoTime, false, false);
    }

    StagedWait(
            int pauses,
            @Nullable Runnable giveProcessor,
            LongSupplier clock,
            boolean eachLateYieldCounts,
            boolean mixes) {
        if (pauses < 0 || pauses > PAUSES_MAX) {
            throw new IllegalArgumentException("spins: %d; must be 0 to %d".formatted(pauses, PAUSES_MAX));
        }
        this.giveProcessor = giveProcessor;
        this.clock = clock;
        this.eachLateYieldCounts = eachLateYieldCounts;
        this.mixes = mixes;
        this.lateUntilNs = clock.getAsLong();
        this.giveWayFromNs = lateUntilNs;
        this.all = pauses;
        this.least = (pauses + LEAST_SHARE - 1) / LEAST_SHARE;
        this.yields = Math.min(YIELDS_MAX, pauses);
        this.pauses = pauses;
    }

    /**
     * For a virtual thread that waits for another process. Its yields give the processor of its carrier away, which that process may
     * need. So the thread must also {@linkplain #letOthersRun let the others} on its carrier run.
     *
     * @param pauses as in the constructor
     * @param giveProcessor gives the processor of the carrier away, as sched_yield(2) does
     */
    public static StagedWait ofCarrier(int pauses, Runnable giveProcessor) {
        return new StagedWait(pauses, giveProcessor, System::nanoTime, false, false);
    }

    /**
     * For threads that take {@link Turns} when they sleep. Among many of them yields are late; each late yield counts, so that they
     * sleep soon.
     *
     * @param pauses as in the constructor
     */
    public static StagedWait ofTurns(int pauses) {
        return new StagedWait(pauses, null, System::nanoTime, true, false);
    }

    /**
     * For threads that wait beside one that polls for them. The thread that they wait for may be ready on this processor, and would
     * run only after all pauses. So after a miss, the next waits mix pauses with yields. Not for virtual threads.
     *
     * @param pauses as in the constructor
     * @param takeTurns whether they also {@linkplain #ofTurns take turns}
     */
    public static StagedWait ofFollowers(int pauses, boolean takeTurns) {
        return new StagedWait(pauses, null, System::nanoTime, takeTurns, true);
    }

    /**
     * Begins a wait.
     *
     * @param cost how many pauses one poll costs; there are so many times fewer polls
     * @return what is left of the wait, for {@link #pause}; 0: sleep at once
     */
    public int begin(int cost) {
        if (mixed > 0) {
            mixed--;
        }
        int yieldsNow = yields;
        if (withoutYields > 0) {
            withoutYields--;
            yieldsNow = 0;
        }
        // Once the pauses are fewer than one poll costs, waits make none any more. Trying all of them again made calls
        // to handlers over TCP a third slower: each poll is a system call.
        int left = ((pauses / cost) << YIELD_BITS) | yieldsNow;
        return cost > 1 && ready == READY_IN_A_ROW ? yieldsOnly(left) : left;
    }

    /**
     * Pauses or yields once, after a poll that found nothing.
     *
     * @param left what {@link #begin} or this method returned last; not 0
     * @return what is left of the wait; 0: announce the sleep, poll once more and sleep
     */
    public int pause(int left) {
        if (left > YIELD_MASK) {
            Thread.onSpinWait();
            int rest = left - PAUSE;
            if (rest <= YIELD_MASK) {
                missed();
            } else if (mixed > 0 && isBetween(rest) && isYieldLate()) {
                return 0;
            }
            return rest;
        }
        return isYieldLate() ? 0 : left - 1;
    }

    private static boolean isBetween(int left) {
        return (left >> YIELD_BITS) % PAUSES_BETWEEN == 0
                && (left & YIELD_MASK) > 0; // no yields while they are suspended
    }

    /**
     * The first poll of a wait succeeded. Yields after one in {@value #GIVE_WAY_EVERY} such waits, for threads that wait on
     * this processor. Not for polls that cost as little as a pause: a yield costs more than those waits.
     */
    public void giveWay() {
        if (++waysKept < GIVE_WAY_EVERY || yields == 0) {
            return;
        }
        waysKept = 0;
        long beginNs = clock.getAsLong();
        if (beginNs - giveWayFromNs < 0) {
            return;
        }
        yieldProcessor();
        long endNs = clock.getAsLong();
        if (endNs - beginNs > LATE_NS) {
            giveWayFromNs = endNs + LATE_PART * (endNs - beginNs);
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // the callers' clocks tell whether the yield helped
    private void yieldProcessor() {
        Runnable give = giveProcessor;
        if (give != null) {
            give.run();
        } else {
            Thread.yield();
        }
    }

    /** Yields once; returns whether that took too long. */
    private boolean isYieldLate() {
        long beginNs = clock.getAsLong();
        yieldProcessor();
        if (giveProcessor == null && Thread.currentThread().isVirtual()) {
            return false; // it gave nothing away but its place among the others of its carrier
        }
        long endNs = clock.getAsLong();
        if (endNs - beginNs > LATE_NS) {
            late(beginNs, endNs);
            return true;
        }
        return false;
    }

    /** Yields once, for those that have work now; not a stage of a wait. */
    @SuppressWarnings("ThreadPriorityCheck") // a virtual thread lets the next one on its carrier run
    public static void letOthersRun() {
        Thread.yield();
    }

    /**
     * Skips the pauses, because other threads of this process have work and may need this processor. Does nothing while
     * yields are suspended.
     *
     * @param left what {@link #begin} or {@link #pause} returned last
     * @return what is left of the wait
     */
    public static int yieldsOnly(int left) {
        int yieldsLeft = left & YIELD_MASK;
        return yieldsLeft > 0 ? yieldsLeft : left;
    }

    /**
     * A poll after a pause or a yield succeeded.
     *
     * @param left what {@link #pause} returned last
     */
    public void hit(int left) {
        if (ready != 0) {
            ready = 0;
        }
        if (left > YIELD_MASK) {
            pausesPaid();
        } else if (hitsByYields < HITS_BETWEEN) {
            hitsByYields++;
        }
    }

    /**
     * The first poll of a wait succeeded, before any pause, yield or sleep; in place of {@link #hit}. For threads that serve others.
     *
     * @param left what {@link #begin} returned
     */
    public void ready(int left) {
        if (ready < READY_IN_A_ROW) {
            ready++;
        }
        if (left > YIELD_MASK) {
            pausesPaid();
        }
    }

    private void pausesPaid() {
        // No write while nothing changes: the cache line stays shared between the processors.
        if (pauses < all) {
            pauses = Math.min(all, 2 * pauses);
        } else if (tryAfter != TRY_AFTER_MIN) {
            tryAfter = TRY_AFTER_MIN;
        }
    }

    /** A yield was late. The times are of the clock. */
    void late(long beginNs, long endNs) {
        if (!eachLateYieldCounts) {
            if (beginNs - lateUntilNs < 0) {
                return;
            }
            lateUntilNs = endNs;
        }
        if (hitsByYields < HITS_BETWEEN) {
            withoutYields = withoutYieldsNext;
            withoutYieldsNext = Math.min(WITHOUT_YIELDS_MAX, 2 * withoutYieldsNext);
        } else {
            withoutYieldsNext = Math.max(WITHOUT_YIELDS_MIN, withoutYieldsNext / 2);
        }
        hitsByYields = 0;
    }

    private void missed() {
        if (mixes) {
            mixed = MIXED_WAITS;
        }
        if (pauses == all) {
            tryAfter = Math.min(TRY_AFTER_MAX, 2 * tryAfter);
            untilTry = tryAfter;
        }
        untilTry--;
        pauses = untilTry <= 0 ? all : Math.max(least, pauses / 2);
    }
}
