package dev.lite.tier.qos;

/**
 * How many bytes may be under way to one node. While several applications of one priority use the link, the fewest that
 * keep it busy: what lies in the link already has an order that nobody can change, and an application with one thread and
 * short transfers gets its part only if the others have little there. The limit halves while the throughput stays, and
 * doubles when it falls. Otherwise it is the largest.
 *
 * <p>{@link #ended}: any thread. {@link #adapt}: the thread to which {@code ended} returned true.
 */
final class BytesLimit {
    /** The least limit: an application with one thread and 4 KiB still gets a tenth of a link beside so many bytes. */
    static final long LEAST = 16 << 10;

    /** Where the search begins. */
    private static final long FIRST = 256 << 10;

    /**
     * A step takes at least this time, and as long as it takes to transfer the limit so many times: else it would measure
     * single transfers. But no longer than the largest time.
     */
    private static final long STEP_NS = 25_000_000;

    private static final int STEP_LIMITS = 8;
    private static final long STEP_NS_MAX = 1_000_000_000;

    private static final long PIECE_MAX = 256 << 10;

    /** The throughput stays while it is at least this part of the best. */
    private static final double STAYS = 0.85;

    private static final double FALLS = 0.7;
    /** The best is forgotten slowly, since the others' use of the link changes. */
    private static final double FORGETS = 0.98;

    /**
     * After a fall that a halving caused, so many steps pass until the next halving; twice as many each time, up to the
     * most. Else a link that needs the bytes would be slow every second step.
     */
    private static final int HOLD_STEPS = 2;

    private static final int HOLD_STEPS_MAX = 64;

    private final long most;
    private volatile long bytes;
    private boolean halved;
    private int hold;
    private int nextHold = HOLD_STEPS;
    private double best;
    private double perNs;

    private long done;
    private long beginNs;

    BytesLimit(long most) {
        this.most = most;
        bytes = most;
    }

    long bytes() {
        return bytes;
    }

    /** The longest piece: a part of the limit, so that others go between. */
    long pieceBytes() {
        return Math.min(PIECE_MAX, bytes / 2);
    }

    /** A transfer has ended. True ends a step. */
    synchronized boolean ended(long nowNs, long cost) {
        done += cost;
        long tookNs = nowNs - beginNs;
        if (tookNs < STEP_NS || (done < STEP_LIMITS * Math.min(FIRST, bytes) && tookNs < STEP_NS_MAX)) {
            return false;
        }
        perNs = (double) done / tookNs;
        done = 0;
        beginNs = nowNs;
        return true;
    }

    /** @param applications the largest number of applications of one priority that used the link in this step */
    synchronized void adapt(int applications) {
        if (applications < 2) {
            bytes = most;
            best = 0;
            hold = 0;
            return;
        }
        best = Math.max(best * FORGETS, perNs);
        boolean fell = perNs < FALLS * best;
        if (halved) {
            nextHold = fell ? Math.min(HOLD_STEPS_MAX, 2 * nextHold) : HOLD_STEPS;
            hold = fell ? nextHold : 0;
            halved = false;
        }
        if (bytes > FIRST) {
            bytes = FIRST;
        } else if (fell) {
            bytes = Math.min(FIRST, bytes * 2);
        } else if (hold > 0) {
            hold--;
        } else if (perNs >= STAYS * best && bytes > LEAST) {
            bytes /= 2;
            halved = true;
        }
    }
}
