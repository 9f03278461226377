package dev.lite.fabric.tcp;

import dev.lite.fabric.driver.Waiting;
import org.jspecify.annotations.Nullable;

/**
 * Lets busy threads give up the poll role without a system call, and the standby thread step in when they do not come back.
 *
 * <p>A thread that makes or serves one call after the other gives the role up for a <i>break</i> of a few microseconds in between.
 * Arming the fabric for it costs two system calls, and what arrives in the break wakes the standby thread, which then takes a
 * processor from the threads that have work. So while breaks are frequent, they are armed only in name; not so those of threads that
 * are about to sleep. A thread that will post or poll soon leaves its frames queued.
 *
 * <p>Meanwhile the standby thread checks every {@value #EVERY_NS} ns. If nobody has polled for {@value Departures#FRESH_NS} ns, it
 * arms the fabric and sends the frames. So an event is late by at most about a third of a millisecond if a break turns out to be long.
 * The checks end after {@value #IDLE_CHECKS_MAX} of them without such a break.
 *
 * <p><b>Which breaks are armed</b> is decided anew in each period of 2^{@value #PERIOD_SHIFT} ns (17 ms). If the standby thread had to
 * poll in more than {@value #LONG_BREAKS_MAX} breaks that were armed in name only, those of the next periods are armed, until the next
 * try: events that others wait for were late in an eighth of the time. If several threads make the breaks, others wait for sure; then
 * {@value #LONG_BREAKS_OF_SEVERAL_MAX} are the limit. Tries in vain become rarer, down to one in {@value #TRY_EVERY_MAX} periods. The
 * length of an armed break tells nothing: the break wakes the standby thread, which may take the processor from the thread that would
 * have come back. For the same reason, all processes of a host try at the same time: periods begin at multiples of their length in the
 * time of the system.
 */
final class StandbyChecks {
    private static final long EVERY_NS = 250_000;
    private static final int IDLE_CHECKS_MAX = 64;

    /** A period ends when the bits of {@link System#nanoTime} above these change. */
    private static final int PERIOD_SHIFT = 24;
    /** After a longer time without a break, nothing is known. */
    private static final int PERIODS_MAX = 2;

    /** With fewer breaks in a period, arming costs little, and the checks would cost more. */
    private static final int BREAKS_MIN = 8;

    private static final int LONG_BREAKS_MAX = 6;
    private static final int LONG_BREAKS_OF_SEVERAL_MAX = 2;
    /** A power of two. */
    private static final int TRY_EVERY_MAX = 64;

    private final Waiting waiting;
    private final Departures departures;

    /**
     * Whether the standby thread checks. Others do their part first, and then set it or see it set. The standby thread clears it,
     * and then checks once more. So one of the two sees the other.
     */
    private volatile boolean running;

    private volatile @Nullable Thread standby;

    // Written by the poll role.
    private long period;
    private boolean inNameOnly;
    private int tryEvery = 1;
    /** Breaks of this period, and those of them in which the standby thread polled. */
    private int breaks;

    private int longBreaks;
    /** The thread that began the last break, and how often in this period it was another one than before. */
    private @Nullable Thread breaker;

    private int changes;
    /** Whether nobody has polled since the begin of the last break. */
    private boolean inBreak;

    /** Begin of the last break that was armed in name only. */
    private volatile long unarmedNs;

    /** The last frame that its thread left because it will post or poll soon. Any thread. */
    private volatile long leftNs;

    // Standby thread.
    private long lastCheckNs;
    private long lastUnarmedNs;
    private int idleChecks;

    StandbyChecks(Waiting waiting, Departures departures) {
        this.waiting = waiting;
        this.departures = departures;
    }

    /**
     * Arms the fabric; or only in name, if this begins a break. Poll role.
     *
     * @param briefly whether the thread will probably be back soon
     * @return whether the fabric is armed; otherwise the standby thread arms it if need be
     */
    boolean arm(boolean briefly) {
        if (!briefly) {
            waiting.arm();
            return true;
        }
        long now = System.nanoTime();
        if (now >> PERIOD_SHIFT != period) {
            decide(now >> PERIOD_SHIFT);
        }
        breaks++;
        inBreak = true;
        Thread current = Thread.currentThread();
        if (current != breaker || current.isVirtual()) { // a virtual one polls for others
            breaker = current;
            changes++;
        }
        if (!inNameOnly) {
            waiting.arm();
            return true;
        }
        unarmedNs = now;
        waiting.armLater();
        start();
        return false;
    }

    private void decide(long next) {
        if (breaks < BREAKS_MIN || next - period > PERIODS_MAX) {
            inNameOnly = false;
        } else if (!inNameOnly) {
            inNameOnly = (next & (tryEvery - 1)) == 0;
        } else if (longBreaks <= (changes > 1 ? LONG_BREAKS_OF_SEVERAL_MAX : LONG_BREAKS_MAX)) {
            tryEvery = 1;
        } else {
            inNameOnly = false;
            tryEvery = Math.min(2 * tryEvery, TRY_EVERY_MAX);
        }
        period = next;
        breaks = 0;
        longBreaks = 0;
        changes = 0;
    }

    /** The fabric is not armed any more. Poll role. */
    void disarm() {
        waiting.disarm();
        if (inBreak) {
            inBreak = false;
            longBreaks += Thread.currentThread() == standby ? 1 : 0;
        }
    }

    /** A thread has left a frame, and will post or poll soon. Any thread. */
    void left() {
        leftNs = System.nanoTime();
        start();
    }

    /** Makes the standby thread check. Call after a frame was left to a poll that may not follow. Any thread. */
    void start() {
        if (!running) {
            running = true;
            waiting.nudgeStandby();
        }
    }

    /** Time to stand by before the next {@link #check}, at most {@code leftNs}. Standby thread. */
    long pauseNs(long leftNs) {
        if (standby == null) {
            standby = Thread.currentThread();
        }
        return running ? Math.min(leftNs, EVERY_NS) : leftNs;
    }

    /** Standby thread. */
    void check(TcpLane[] lanes, long nowNs) {
        if (!running || nowNs - lastCheckNs < EVERY_NS) {
            return;
        }
        lastCheckNs = nowNs;
        if (nowNs - departures.polledNs() > Departures.FRESH_NS && nowNs - leftNs > Departures.FRESH_NS) {
            stepIn(lanes);
        }
        long last = unarmedNs;
        if (last != lastUnarmedNs) {
            lastUnarmedNs = last;
            idleChecks = 0;
        } else if (++idleChecks > IDLE_CHECKS_MAX) {
            idleChecks = 0;
            running = false;
            stepIn(lanes);
        }
    }

    private void stepIn(TcpLane[] lanes) {
        for (var lane : lanes) {
            if (lane.departs.get()) {
                lane.outbound.send();
            }
        }
        waiting.armNow();
    }
}
