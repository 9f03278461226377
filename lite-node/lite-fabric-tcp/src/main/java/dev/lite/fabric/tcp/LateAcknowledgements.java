package dev.lite.fabric.tcp;

/**
 * Says what was done for a peer when no frame went its way since and nobody polls. Whoever gives the poll role up leaves this to
 * the thread that stands by: a frame of its own would cost a caller a third of a round trip, and the answer or the next call,
 * which mostly follows at once, says it for nothing.
 *
 * <p>The thread that stands by looks every {@link #EVERY_NS} from the first {@link #watch} on, and stops when there was nothing
 * to be said for {@value #QUIET_LOOKS_MAX} looks, so an idle fabric costs nothing. What is owed is said after two looks at most.
 */
final class LateAcknowledgements {
    /** Nanoseconds between two looks. */
    private static final long EVERY_NS = 1_000_000;

    private static final int QUIET_LOOKS_MAX = 64;

    private volatile boolean watched;

    // Of the thread that stands by.
    private long lastLookNs;
    private int quietLooks;

    /** Something may be owed. Poll role, after it is counted as done. Returns whether the thread that stands by must be told. */
    boolean watch() {
        if (watched) {
            return false;
        }
        watched = true;
        return true;
    }

    /** How long to stand by before the next {@link #look}, at most {@code leftNs}. The thread that stands by. */
    long pauseNs(long leftNs) {
        return watched ? Math.min(leftNs, EVERY_NS) : leftNs;
    }

    /** Acknowledges what was owed at the look before, too, and no frame said since. The thread that stands by. */
    void look(TcpLane[] lanes, long nowNs) {
        if (!watched || nowNs - lastLookNs < EVERY_NS) {
            return;
        }
        lastLookNs = nowNs;
        if (acknowledge(lanes)) {
            quietLooks = 0;
        } else if (++quietLooks > QUIET_LOOKS_MAX) {
            quietLooks = 0;
            watched = false;
            // Who counted something as done before it saw that, told nobody.
            watched = owes(lanes);
        }
    }

    private static boolean acknowledge(TcpLane[] lanes) {
        boolean some = false;
        for (var lane : lanes) {
            if (lane.outbound.owesAcknowledgement()) {
                some = true;
                int said = lane.outbound.acknowledgedSaid();
                if (said == lane.saidAtLook) {
                    lane.outbound.acknowledge(false);
                }
                lane.saidAtLook = said;
            }
        }
        return some;
    }

    private static boolean owes(TcpLane[] lanes) {
        for (var lane : lanes) {
            if (lane.outbound.owesAcknowledgement()) {
                return true;
            }
        }
        return false;
    }
}
