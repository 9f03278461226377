package dev.lite.fabric.shm;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether breaks are armed. A <i>break</i> begins when a thread gives up the poll role and will probably take it again within
 * microseconds. To arm it costs only a store. But an event in an armed break wakes the standby thread: the peer makes a system call for
 * it, and the standby thread then takes the processor and the poll role from a thread that has work. A thread with many operations under
 * way, or one that serves them, has an event in nearly every break.
 *
 * <p>So the standby thread counts how often events wake it. If that is often, one thread makes many breaks, and they are not armed any
 * more. The standby thread looks after them every {@value #LOOK_NS} ns instead. A break that lasts from one look to the next is
 * <i>long</i>: the standby thread arms it and polls. So an event is late by at most two looks.
 *
 * <p>Time has periods of {@value #PERIOD_NS} ns. Breaks are armed again after one with few breaks, with too many long ones or with more
 * than one thread: a thread that does not poll itself would wait for the next look. After long ones or several threads, the time until
 * the next try doubles, up to {@value #TRY_NS_MAX} ns. They are also armed after {@value #PERIODS_MAX} periods, to see whether events still wake the standby thread.
 *
 * <p>{@link #begin} and {@link #mayStay}: poll role. All others: the standby thread.
 */
final class UnarmedBreaks {
    static final long LOOK_NS = 250_000;
    static final long PERIOD_NS = 20_000_000;
    static final int PERIODS_MAX = 8;
    /** Of a period. */
    static final int BREAKS_MIN = 50;

    static final int WAKE_UPS_MIN = 16;
    static final int LONG_MAX = 4;
    /** So often another thread than before may begin a break. */
    static final int CHANGES_MAX = 4;

    static final long TRY_NS_MAX = TimeUnit.SECONDS.toNanos(1);

    // Written by the poll role; each counts up, and may overflow.
    private final AtomicInteger breaks = new AtomicInteger();
    private final AtomicInteger changes = new AtomicInteger();
    private @Nullable Thread last;

    private volatile boolean unarmed;

    // Standby thread.
    private int breaksSeen;
    private int longBreaks;
    private int wakeUps;
    private int periodsLeft;
    private long tryAfterNs = PERIOD_NS;
    /** No try before this; only after a try that failed. */
    private long nextTryNs;

    private boolean failed;

    // At the begin of the period.
    private long periodNs;
    private int periodBreaks;
    private int periodChanges;

    /**
     * A break begins.
     *
     * @return whether it may stay unarmed; if so, the caller announces it, and then asks {@link #mayStay}
     */
    boolean begin() {
        breaks.setOpaque(breaks.getPlain() + 1);
        Thread current = Thread.currentThread();
        if (current != last) {
            last = current;
            changes.setOpaque(changes.getPlain() + 1);
        }
        return unarmed;
    }

    /**
     * Whether the standby thread looks after an unarmed break. The poll role announces the break and then asks. The standby thread first
     * ends this, and then looks whether a break was announced. So one of the two sees the other.
     */
    boolean mayStay() {
        return unarmed;
    }

    /** How long the standby thread may wait until it calls {@link #look}, at most the given time. */
    long pauseNs(long leftNs) {
        return unarmed ? Math.min(leftNs, LOOK_NS) : leftNs;
    }

    /**
     * The standby thread has waited.
     *
     * @param woken whether something woke it
     * @param nowNs of {@link System#nanoTime}
     * @return whether it must arm the break that lasts now, if one does
     */
    boolean look(boolean woken, long nowNs) {
        int now = breaks.getOpaque();
        boolean lasts = now == breaksSeen;
        breaksSeen = now;
        boolean over = nowNs - periodNs > PERIOD_NS;
        if (unarmed) {
            if (over) {
                periodsLeft--;
                decideNextTry(nowNs);
                unarmed = !failed && periodsLeft > 0 && isFrequent();
                beginPeriod(nowNs);
            }
            return lasts || !unarmed;
        }
        if (over) {
            beginPeriod(nowNs);
        }
        wakeUps += woken ? 1 : 0;
        if (wakeUps >= WAKE_UPS_MIN && isFrequent() && isOfOneThread() && (!failed || nowNs - nextTryNs >= 0)) {
            beginPeriod(nowNs);
            periodsLeft = PERIODS_MAX;
            unarmed = true;
        }
        return false;
    }

    /** The standby thread has armed a break after {@link #look}. */
    void wasLong() {
        longBreaks++;
    }

    private void decideNextTry(long nowNs) {
        failed = longBreaks > LONG_MAX || !isOfOneThread();
        if (failed) {
            nextTryNs = nowNs + tryAfterNs;
            tryAfterNs = Math.min(2 * tryAfterNs, TRY_NS_MAX);
        } else if (periodsLeft == 0) {
            tryAfterNs = PERIOD_NS;
        }
    }

    private boolean isFrequent() {
        return breaksSeen - periodBreaks >= BREAKS_MIN;
    }

    private boolean isOfOneThread() {
        return changes.getOpaque() - periodChanges <= CHANGES_MAX;
    }

    private void beginPeriod(long nowNs) {
        periodNs = nowNs;
        periodBreaks = breaksSeen;
        periodChanges = changes.getOpaque();
        wakeUps = 0;
        longBreaks = 0;
    }
}
