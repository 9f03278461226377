package dev.lite.session.protocol;

/**
 * How often a thread looks before it sleeps, learnt from whether looking helped. While the two sides of a session run on two
 * processors, an answer comes within the budget and the budget stays whole. When they share one, because others are busy
 * too, looking only keeps the other side from running: the budget is halved each time it was in vain, down to a
 * {@value #LEAST_SHARE}th. It is tried whole again after a few times in vain, so that better times are noticed at once, and
 * after twice as many, up to {@value #PAUSE_MAX}, each time that the whole was in vain, too. So two sides that put each other to
 * sleep once find out of it after a few rounds, and those that share a processor pay little for the attempts.
 *
 * <p>Any number of threads; they share what they learn. Updates may be lost, which only makes learning slower.
 */
public final class SpinBudget {
    private static final int LEAST_SHARE = 64;
    private static final int PAUSE_MIN = 4;
    private static final int PAUSE_MAX = 64;

    private final int whole;
    private final int least;
    private int now;
    /** How often it is in vain before the whole is tried again. */
    private int pause = PAUSE_MIN;

    private int leftOfPause = PAUSE_MIN;

    /**
     * Starts with the whole budget.
     *
     * @param whole how often at most; 0 never looks
     */
    public SpinBudget(int whole) {
        if (whole < 0) {
            throw new IllegalArgumentException("spins: %d; must be at least 0".formatted(whole));
        }
        this.whole = whole;
        least = (whole + LEAST_SHARE - 1) / LEAST_SHARE;
        now = whole;
    }

    /** How often to look this time. */
    public int spins() {
        return now;
    }

    /** What was looked for came while looking. */
    public void helped() {
        // No write while all is well: the line stays shared between the processors.
        if (now < whole) {
            now = Math.min(whole, 2 * now);
        } else if (pause != PAUSE_MIN) {
            pause = PAUSE_MIN;
        }
    }

    /** It did not come: the thread has to sleep. */
    public void wasInVain() {
        if (now == whole) {
            pause = Math.min(PAUSE_MAX, 2 * pause);
            leftOfPause = pause;
        }
        leftOfPause--;
        now = leftOfPause <= 0 ? whole : Math.max(least, now / 2);
    }
}
