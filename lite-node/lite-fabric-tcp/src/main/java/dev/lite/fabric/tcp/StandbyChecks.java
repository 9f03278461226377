package dev.lite.fabric.tcp;

import dev.lite.fabric.driver.Waiting;
import org.jspecify.annotations.Nullable;

/**
 * Lets busy threads give up the poll role without a system call, and the standby thread step in when they do not come back.
 *
 * <p>A thread that makes or serves one call after the other gives the role up for a <i>break</i> of a few microseconds in between.
 * Arming the fabric for it costs two system calls, and what arrives in the break wakes the standby thread, which then takes a
 * processor from the threads that have work. So after some short breaks in a row, the next ones are armed only in name. A thread
 * that will post or poll soon leaves its frames queued.
 *
 * <p>Meanwhile the standby thread checks every {@value #EVERY_NS} ns. If nobody has polled for {@value Departures#FRESH_NS} ns, it
 * arms the fabric and sends the frames. So an event is late by about half a millisecond if a break turns out to be long. Then the
 * next breaks are armed at once, and more short ones must follow until that ends. One long break among {@value #SHORT_PER_LONG}
 * short ones does not count. Breaks of the standby thread itself do not
 * count: it is about to sleep. The checks end after {@value #IDLE_CHECKS_MAX} of them without such a break.
 */
final class StandbyChecks {
    private static final long EVERY_NS = 250_000;
    private static final int IDLE_CHECKS_MAX = 64;
    /** About as long as waking a thread takes. */
    private static final long SHORT_NS = 100_000;
    /** When breaks are rarer, arming costs little, and the checks would cost more. */
    private static final long OFTEN_NS = 1_000_000;

    private static final int SHORT_BREAKS_MIN = 16;
    private static final int SHORT_BREAKS_WANTED_MAX = 256;
    /** More are not counted, so that a change of behaviour is soon noticed. */
    private static final int SHORT_BREAKS_MAX = 512;

    /** One long break after so many short ones does not end the breaks that are armed in name only. */
    static final int SHORT_PER_LONG = 64;

    private final Waiting waiting;
    private final Departures departures;

    /**
     * Whether the standby thread checks. Others do their part first, and then set it or see it set. The standby thread clears it,
     * and then checks once more. So one of the two sees the other.
     */
    private volatile boolean running;

    private volatile @Nullable Thread standby;

    // Written by the poll role.
    private int shortBreaks;
    private int wanted = SHORT_BREAKS_MIN;
    private long breakNs = System.nanoTime();
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

    /** A break begins. Returns whether the fabric is armed; otherwise the standby thread arms it if need be. Poll role. */
    boolean arm() {
        long now = System.nanoTime();
        if (now - breakNs > OFTEN_NS) {
            shortBreaks = 0;
        }
        breakNs = now;
        if (shortBreaks < wanted || Thread.currentThread() == standby) {
            waiting.arm();
            return true;
        }
        unarmedNs = now;
        waiting.armLater();
        start();
        return false;
    }

    /** The break ends. Poll role. */
    void disarm() {
        waiting.disarm();
        long now = System.nanoTime();
        // A thread that posts a batch is as good as one that polls.
        if (Thread.currentThread() != standby && (now - breakNs < SHORT_NS || now - leftNs < SHORT_NS)) {
            if (shortBreaks < SHORT_BREAKS_MAX) {
                shortBreaks++;
            } else {
                wanted = SHORT_BREAKS_MIN;
            }
        } else if (shortBreaks >= wanted + SHORT_PER_LONG) {
            shortBreaks -= SHORT_PER_LONG; // an exception, as when the system takes the processor from a busy thread
        } else if (shortBreaks > 0) {
            shortBreaks = 0;
            wanted = Math.min(2 * wanted, SHORT_BREAKS_WANTED_MAX);
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
