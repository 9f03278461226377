package dev.lite.tier.memory;

import java.util.concurrent.locks.LockSupport;

/** How to wait for something that another thread is about to finish: spin briefly, then sleep. */
final class Waiting {
    private static final int SPINS = 200;
    private static final long SLEEP_NS = 50_000;

    private Waiting() {}

    /** One step of a wait; {@code spins} counts the steps before it. */
    static void pause(int spins) {
        if (spins < SPINS) {
            Thread.onSpinWait();
        } else {
            LockSupport.parkNanos(SLEEP_NS);
        }
    }
}
