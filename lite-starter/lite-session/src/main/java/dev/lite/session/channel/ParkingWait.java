package dev.lite.session.channel;

import dev.lite.session.async.PollingHelp;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** The wait of one platform thread for started calls, as far as it does not poll. Made by that thread. */
abstract class ParkingWait implements PollingHelp.Wait {
    private final BooleanSupplier over;
    private final Thread thread = Thread.currentThread();
    private volatile boolean parked;

    /** @param over whether the wait may end */
    ParkingWait(BooleanSupplier over) {
        this.over = over;
    }

    /** Whether the thread must still wait: its wait is not over, and nobody has interrupted it. */
    public final boolean isWaiting() {
        return !over.getAsBoolean() && !thread.isInterrupted();
    }

    /** Sleeps until it is signalled, or the deadline. */
    final void park(long deadlineNs) {
        parked = true;
        try {
            if (isWaiting()) { // after that: who ends it sees that the thread is parked
                LockSupport.parkNanos(this, deadlineNs - System.nanoTime());
            }
        } finally {
            parked = false;
        }
    }

    @Override
    public final void signal() {
        if (parked) {
            LockSupport.unpark(thread);
        }
    }
}
