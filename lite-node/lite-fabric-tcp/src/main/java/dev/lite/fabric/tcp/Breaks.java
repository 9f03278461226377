package dev.lite.fabric.tcp;

import org.jspecify.annotations.Nullable;

/**
 * Decides which breaks are armed. A <i>break</i> begins when a thread gives up the poll role and will probably take it again within
 * microseconds. A break that is not armed costs nothing, but an event during it may be seen late: the standby thread checks only now
 * and then whether it must poll. If the standby thread had to poll, the break was <i>long</i>.
 *
 * <p>Time has periods of 2^{@value #PERIOD_SHIFT} ns (17 ms). At the begin of each one, the breaks of the last one decide:
 *
 * <ul>
 *   <li>If there were fewer than {@value #BREAKS_MIN}, the next ones are armed.
 *   <li>If breaks were not armed, the next ones are not armed either, unless more than {@value #LONG_MAX} were long. With that many,
 *       events were late in about an eighth of the time. If several threads made the breaks, some of them wait in the breaks of
 *       others, and the limit is {@value #LONG_OF_SEVERAL_MAX}.
 *   <li>If breaks were armed, the next ones are not armed for a try. When a try fails, the time until the next one doubles, up to
 *       {@value #TRY_EVERY_MAX} periods (1.1 s).
 * </ul>
 *
 * <p>How long an armed break takes does not matter. It wakes the standby thread, which may take the processor from the thread that would
 * have polled again. For the same reason, all processes of a host try in the same periods: while one arms its breaks, those of the others
 * are long, too. They share the system's clock, so their periods are the same. Poll role.
 */
final class Breaks {
    /** A period ends when the bits of the time above these change. */
    static final int PERIOD_SHIFT = 24;
    /** With fewer breaks in a period, arming costs little. */
    static final int BREAKS_MIN = 8;

    static final int LONG_MAX = 6;
    static final int LONG_OF_SEVERAL_MAX = 2;
    /** Periods; a power of two. */
    static final int TRY_EVERY_MAX = 64;
    /** After more periods without a break, the last ones tell nothing. */
    private static final int PERIODS_MAX = 2;

    private long period;
    private boolean unarmed;
    /** Whether the last break still lasts. */
    private boolean lasts;
    /** The thread that began it. */
    private @Nullable Thread thread;

    private int tryEvery = 1;

    // Of this period.
    private int breaks;
    private int longBreaks;
    /** How often a break began in another thread than the one before. */
    private int changes;

    /**
     * A break begins.
     *
     * @param nowNs of {@link System#nanoTime}
     * @param itsThread the thread that gives up the poll role
     * @return whether the fabric must be armed
     */
    boolean begin(long nowNs, Thread itsThread) {
        if (nowNs >> PERIOD_SHIFT != period) {
            decide(nowNs >> PERIOD_SHIFT);
        }
        lasts = true;
        breaks++;
        if (itsThread != thread || itsThread.isVirtual()) { // a virtual one polls for others
            thread = itsThread;
            changes++;
        }
        return !unarmed;
    }

    private void decide(long next) {
        if (breaks < BREAKS_MIN || next - period > PERIODS_MAX) {
            unarmed = false;
        } else if (!unarmed) {
            unarmed = (next & (tryEvery - 1)) == 0;
        } else if (longBreaks <= (changes > 1 ? LONG_OF_SEVERAL_MAX : LONG_MAX)) {
            tryEvery = 1;
        } else {
            unarmed = false;
            tryEvery = Math.min(2 * tryEvery, TRY_EVERY_MAX);
        }
        period = next;
        breaks = 0;
        longBreaks = 0;
        changes = 0;
    }

    /**
     * The break ends, if one lasts: a thread has the poll role.
     *
     * @param byStandby whether that is the standby thread
     */
    void end(boolean byStandby) {
        if (lasts && byStandby) {
            longBreaks++;
        }
        lasts = false;
    }
}
