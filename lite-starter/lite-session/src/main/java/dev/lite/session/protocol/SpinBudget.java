package dev.lite.session.protocol;

/**
 * How many times a thread polls before it blocks, adapted to whether polling succeeds.
 *
 * <p>While the two sides of a session run on two processors, the answer comes within the budget. When they share a processor because
 * others are busy, polling only keeps the other side from running. So each miss halves the budget, down to 1/{@value #LEAST_SHARE}.
 * The full budget is tried again after a few misses, to notice soon when a processor is free again. Each miss of the full budget
 * doubles the number of misses before the next try, up to {@value #PAUSE_MAX}. Two sides that put each other to sleep recover within a
 * few rounds; two that share a processor pay little for the tries.
 *
 * <p>Any number of threads share one budget. Updates may be lost, which only slows the adaptation down.
 */
public final class SpinBudget {
    private static final int LEAST_SHARE = 64;
    private static final int PAUSE_MIN = 4;
    private static final int PAUSE_MAX = 64;

    private final int full;
    private final int least;
    private int current;
    /** How many misses lie between two tries of the full budget. */
    private int pause = PAUSE_MIN;

    private int leftOfPause = PAUSE_MIN;

    /**
     * Starts with the full budget.
     *
     * @param full the largest number of polls; 0 never polls
     */
    public SpinBudget(int full) {
        if (full < 0) {
            throw new IllegalArgumentException("spins: %d; must be at least 0".formatted(full));
        }
        this.full = full;
        least = (full + LEAST_SHARE - 1) / LEAST_SHARE;
        current = full;
    }

    /** The number of polls for the next wait. */
    public int spins() {
        return current;
    }

    /** A poll succeeded within the budget. */
    public void hit() {
        // No write while the budget is full: the cache line stays shared between the processors.
        if (current < full) {
            current = Math.min(full, 2 * current);
        } else if (pause != PAUSE_MIN) {
            pause = PAUSE_MIN;
        }
    }

    /** The budget is used up without success: the thread blocks. */
    public void miss() {
        if (current == full) {
            pause = Math.min(PAUSE_MAX, 2 * pause);
            leftOfPause = pause;
        }
        leftOfPause--;
        current = leftOfPause <= 0 ? full : Math.max(least, current / 2);
    }
}
