package dev.lite.tier.session;

import dev.lite.os.ThreadPriority;
import dev.lite.os.waiting.StagedWait;
import java.util.concurrent.TimeUnit;

/**
 * Lets others run before each control request of a session that sends many. A request costs the node more than the application, and the
 * kernel prefers threads that were just woken. So an application that only asks would take processor time from those that only work.
 * Nothing is slower while a processor is idle. One thread.
 */
final class RequestPace {
    /** Requests in a period that cost nothing. */
    static final int FREE = 64;

    static final long PERIOD_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private long periodEndNs = System.nanoTime();
    private int requests;

    /** Before a request. Returns whether it let others run. */
    boolean step() {
        long nowNs = System.nanoTime();
        if (nowNs - periodEndNs >= 0) {
            periodEndNs = nowNs + PERIOD_NS;
            requests = 0;
        }
        if (++requests <= FREE) {
            return false;
        }
        // The session's thread is virtual: first its carrier, for the requests, then the carrier's processor.
        StagedWait.letOthersRun();
        ThreadPriority.yieldProcessor();
        return true;
    }
}
