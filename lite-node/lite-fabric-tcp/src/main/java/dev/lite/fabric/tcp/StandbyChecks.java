package dev.lite.fabric.tcp;

import dev.lite.fabric.driver.Waiting;
import org.jspecify.annotations.Nullable;

/**
 * Lets busy threads give up the poll role without a system call, and lets the standby thread step in if they do not poll again soon.
 *
 * <p>A thread that makes or serves one call after the other gives the role up for a break of a few microseconds in between. Arming the
 * fabric for it costs two system calls, and what arrives in the break wakes the standby thread, which then takes a processor from the
 * threads that have work. So while breaks are frequent and short, the fabric is not really armed; {@link Breaks} decides that. A thread
 * that is about to sleep always arms it. A thread that will post or poll soon leaves its frames queued.
 *
 * <p>Meanwhile the standby thread checks every {@value #EVERY_NS} ns. If nobody has polled for {@value Departures#FRESH_NS} ns, it
 * arms the fabric and sends the frames. So an event is late by at most about a third of a millisecond if a break turns out to be long.
 * A thread that makes a long write does not poll meanwhile, and polls next: it has {@value #SENDING_CHECKS_MAX} checks more. One that
 * leaves one frame after the other has {@value #LEFT_CHECKS_MAX} more: it may do so for long, and nobody sees an event meanwhile.
 * The checks end after {@value #IDLE_CHECKS_MAX} of them without such a break.
 */
final class StandbyChecks {
    private static final long EVERY_NS = 250_000;
    private static final int IDLE_CHECKS_MAX = 64;
    /** A thread needs a third of a millisecond to encrypt and send 1 MiB. One that needs more is preempted. */
    static final int SENDING_CHECKS_MAX = 4;

    /** A thread that answers queued calls leaves each reply, and polls only after the last one. */
    static final int LEFT_CHECKS_MAX = 2;

    private final Waiting waiting;
    private final Departures departures;

    /**
     * Whether the standby thread checks. Others do their part first, and then set it or see it set. The standby thread clears it,
     * and then checks once more. So one of the two sees the other.
     */
    private volatile boolean running;

    private volatile @Nullable Thread standby;

    // Written by the poll role.
    private final Breaks breaks = new Breaks();
    /** Begin of the last break that was armed in name only. */
    private volatile long unarmedNs;

    /** The last frame that its thread left because it will post or poll soon. Any thread. */
    private volatile long leftNs;

    // Standby thread.
    private long lastCheckNs;
    private long lastUnarmedNs;
    private int idleChecks;
    /** Checks in a row that left the poll to a sending thread. */
    private int sendingChecks;

    /** Checks since the last poll that left the poll to a thread that leaves frames. */
    private int leftChecks;

    private long lastPolledNs;

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
        long now = briefly ? System.nanoTime() : 0;
        if (!briefly || breaks.begin(now, Thread.currentThread())) {
            waiting.arm();
            return true;
        }
        unarmedNs = now;
        waiting.armLater();
        start();
        return false;
    }

    /** The fabric is not armed any more. Poll role. */
    void disarm() {
        waiting.disarm();
        breaks.end(Thread.currentThread() == standby);
    }

    /** A thread has left a frame, and will post or poll soon. Any thread. */
    void left() {
        left(System.nanoTime());
    }

    /** {@link #left()} at that time. */
    void left(long nowNs) {
        leftNs = nowNs;
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
        if (isPolledSoon(nowNs)) {
            sendingChecks = 0;
        } else if (!isAnySent(lanes) || ++sendingChecks > SENDING_CHECKS_MAX) {
            sendingChecks = 0;
            leftChecks = 0;
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

    /** Whether a thread has polled, or left a frame, a moment ago. */
    private boolean isPolledSoon(long nowNs) {
        long polledNs = departures.polledNs();
        if (polledNs != lastPolledNs) {
            lastPolledNs = polledNs;
            leftChecks = 0;
        }
        return nowNs - polledNs <= Departures.FRESH_NS
                || (nowNs - leftNs <= Departures.FRESH_NS && ++leftChecks <= LEFT_CHECKS_MAX);
    }

    /** Whether a thread sends at this moment. Mostly it has made a long write, and polls next. */
    private static boolean isAnySent(TcpLane[] lanes) {
        for (var lane : lanes) {
            if (lane.outbound.isSending()) {
                return true;
            }
        }
        return false;
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
