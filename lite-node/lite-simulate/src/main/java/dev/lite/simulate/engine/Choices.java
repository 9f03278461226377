package dev.lite.simulate.engine;

import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Decides which thread runs next and where threads are switched. The way of deciding changes within a history, since each finds
 * other faults:
 *
 * <ul>
 *   <li>uniform: any thread that can run;
 *   <li>stalls: the same, but now and then a thread is held back for a long time, as by an operating system;
 *   <li>priorities: each thread has one, the highest runs, and at a few random steps the running thread's becomes the lowest
 *       (the algorithm is called PCT).
 * </ul>
 */
final class Choices {
    private enum Way {
        UNIFORM,
        STALLS,
        PRIORITIES
    }

    private static final int STEPS_OF_A_WAY_MAX = 20_000;
    private static final long STALL_NS_MIN = 10_000;

    private final RandomGenerator random;
    private final double busyYields;
    private final double stallShare;
    private final long stallNsMax;
    private final boolean fixed;

    private Way way = Way.UNIFORM;
    private double yieldRate;
    private double stallRate;
    private int stepsLeft;
    private int lowered;

    Choices(RandomGenerator random, boolean fixed) {
        this.random = random;
        this.fixed = fixed;
        this.busyYields = Math.pow(10, -2.5 + 2 * random.nextDouble()); // 0.3 % to 32 %
        this.stallShare = random.nextDouble() * 0.5;
        this.stallNsMax = STALL_NS_MIN << random.nextInt(11); // 10 µs to 10 ms
        draw();
    }

    private void draw() {
        way = fixed ? Way.UNIFORM : Way.values()[random.nextInt(Way.values().length)];
        yieldRate = way == Way.PRIORITIES ? 0.5 * busyYields : busyYields;
        stallRate = way == Way.STALLS ? stallShare : 0;
        stepsLeft = 500 + random.nextInt(STEPS_OF_A_WAY_MAX);
    }

    /** A new thread's priority. */
    long priority() {
        return random.nextInt(1 << 20);
    }

    /** The index of the thread that runs next. */
    int next(List<Task> runnable) {
        if (stepsLeft-- == 0) {
            draw();
        }
        if (way != Way.PRIORITIES) {
            return random.nextInt(runnable.size());
        }
        int best = 0;
        for (int i = 1; i < runnable.size(); i++) {
            if (runnable.get(i).priority > runnable.get(best).priority) {
                best = i;
            }
        }
        if (random.nextInt(1000) == 0) {
            runnable.get(best).priority = --lowered;
        }
        return best;
    }

    /** The virtual duration of one step. */
    long stepNs() {
        return 100L + random.nextInt(400);
    }

    /** How long a spinning thread spins before it looks again. */
    long spinNs() {
        return 200L + random.nextInt(2_000);
    }

    /** Whether the running thread is switched here. */
    boolean yields() {
        return yieldRate > 0 && random.nextDouble() < yieldRate;
    }

    /** For how long a thread that is switched is held back; 0 for not at all. */
    long stallNs() {
        return stallRate > 0 && random.nextDouble() < stallRate ? random.nextLong(stallNsMax) : 0;
    }

    /** Further randomness of the world, such as ids. */
    long nextLong() {
        return random.nextLong();
    }
}
