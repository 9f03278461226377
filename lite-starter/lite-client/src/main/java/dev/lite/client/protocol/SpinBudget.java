package dev.lite.client.protocol;

/**
 * How often a thread looks before it sleeps, learnt from whether looking helped. While the two sides of a session run on two
 * processors, an answer comes within the budget and the budget stays whole. When they share one, because others are busy
 * too, looking only keeps the other side from running: the budget is halved each time it was in vain, down to a
 * {@value #LEAST_SHARE}th, and tried whole again every {@value #RETRY_EVERY} times, so that better times are noticed.
 *
 * <p>Any number of threads; they share what they learn. Updates may be lost, which only makes learning slower.
 */
public final class SpinBudget {
    private static final int LEAST_SHARE = 64;
    private static final int RETRY_EVERY = 256;

    private final int whole;
    private final int least;
    private int now;
    private int inVain;

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
        }
    }

    /** It did not come: the thread has to sleep. */
    public void wasInVain() {
        inVain++;
        now = inVain % RETRY_EVERY == 0 ? whole : Math.max(least, now / 2);
    }
}
