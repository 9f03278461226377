package dev.lite.simulate.tier;

import dev.lite.simulate.engine.Simulation;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits of a history's own threads, in virtual time. */
public final class Pause {
    private static final long POLL_NS = 500_000;

    private Pause() {}

    /** Lets time pass; returns early when the thread is interrupted, which stays set. */
    public static void ns(Simulation simulation, long ns) {
        long endNs = simulation.nowNs() + ns;
        while (simulation.nowNs() < endNs && !Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(endNs - simulation.nowNs());
        }
    }

    /** Polls until a condition holds; false when it does not after this time. */
    public static boolean until(Simulation simulation, long ns, BooleanSupplier condition) {
        long endNs = simulation.nowNs() + ns;
        while (!condition.getAsBoolean()) {
            if (simulation.nowNs() >= endNs || Thread.currentThread().isInterrupted()) {
                return false;
            }
            ns(simulation, POLL_NS);
        }
        return true;
    }
}
