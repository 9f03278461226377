package dev.lite.fabric.tcp;

/**
 * Acknowledges operations executed for a peer if no frame has gone to it since and no thread polls. A thread that
 * releases the poll role leaves this to the standby thread: a separate frame would cost a caller a third of a round
 * trip, and mostly the answer or the next call follows at once and acknowledges for free.
 *
 * <p>From {@link #watch} on, the standby thread checks every millisecond. It stops after {@value #IDLE_CHECKS_MAX}
 * checks with nothing to acknowledge, so an idle fabric costs nothing. Every acknowledgement is sent after at most two
 * checks.
 */
final class LateAcknowledgements {
    /** Nanoseconds between two checks. */
    private static final long EVERY_NS = 1_000_000;

    private static final int IDLE_CHECKS_MAX = 64;

    private volatile boolean watched;

    // Standby thread.
    private long lastCheckNs;
    private int idleChecks;

    /**
     * An acknowledgement may be owed. Poll role, after counting the operation. Returns whether to wake the standby
     * thread.
     */
    boolean watch() {
        if (watched) {
            return false;
        }
        watched = true;
        return true;
    }

    /** Time to stand by before the next {@link #check}, at most {@code leftNs}. Standby thread. */
    long pauseNs(long leftNs) {
        return watched ? Math.min(leftNs, EVERY_NS) : leftNs;
    }

    /**
     * Sends acknowledgements that were already owed at the previous check and that no frame has carried. Standby
     * thread.
     */
    void check(TcpLane[] lanes, long nowNs) {
        if (!watched || nowNs - lastCheckNs < EVERY_NS) {
            return;
        }
        lastCheckNs = nowNs;
        if (acknowledge(lanes)) {
            idleChecks = 0;
        } else if (++idleChecks > IDLE_CHECKS_MAX) {
            idleChecks = 0;
            watched = false;
            // Check once more: a thread that counted an operation before it saw the cleared flag woke no thread.
            // Only ever sets the flag: that thread may have set it meanwhile.
            if (owes(lanes)) {
                watched = true;
            }
        }
    }

    private static boolean acknowledge(TcpLane[] lanes) {
        boolean some = false;
        for (var lane : lanes) {
            if (lane.owesAcknowledgement()) {
                some = true;
                int sent = lane.outbound.acknowledgedSent();
                if (sent == lane.sentAtCheck) {
                    lane.outbound.acknowledge(false);
                }
                lane.sentAtCheck = sent;
            }
        }
        return some;
    }

    private static boolean owes(TcpLane[] lanes) {
        for (var lane : lanes) {
            if (lane.owesAcknowledgement()) {
                return true;
            }
        }
        return false;
    }
}
