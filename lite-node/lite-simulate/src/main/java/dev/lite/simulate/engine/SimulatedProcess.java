package dev.lite.simulate.engine;

/**
 * One operating-system process of the simulation: a node with its applications, a manager, or the history itself. Threads belong
 * to the process of the thread that made them. Used under the scheduler, by one thread at a time.
 */
public final class SimulatedProcess {
    private final String name;
    private boolean dead;
    private long pausedUntilNs;
    private long clockOffsetNs;
    private double clockRate = 1;

    /** @param name for the history */
    public SimulatedProcess(String name) {
        this.name = name;
    }

    /** Its name in histories. */
    public String name() {
        return name;
    }

    /** No thread of it ever runs again. */
    public void kill() {
        dead = true;
    }

    /** Whether it was killed. */
    public boolean isDead() {
        return dead;
    }

    /** None of its threads runs before this virtual time. */
    void pauseUntil(long ns) {
        pausedUntilNs = Math.max(pausedUntilNs, ns);
    }

    long pausedUntilNs() {
        return pausedUntilNs;
    }

    /**
     * Makes its clock differ from the world's.
     *
     * @param offsetNs is added
     * @param rate how fast it runs: 1.001 gains a millisecond a second
     */
    public void skew(long offsetNs, double rate) {
        clockOffsetNs = offsetNs;
        clockRate = rate;
    }

    /** What its clock shows at this virtual time. */
    long clockNs(long worldNs) {
        return clockOffsetNs + (clockRate == 1 ? worldNs : (long) (worldNs * clockRate));
    }

    /** How long a timer of that duration takes in the world. */
    long worldNs(long durationNs) {
        return clockRate == 1 ? durationNs : (long) (durationNs / clockRate);
    }

    @Override
    public String toString() {
        return name;
    }
}
