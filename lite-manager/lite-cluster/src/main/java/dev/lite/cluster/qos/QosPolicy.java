package dev.lite.cluster.qos;

import dev.lite.api.LmrHandle;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * How a node shares a bottleneck among applications (paper §6.2). Immutable; replaced as a whole.
 *
 * @param mode the mechanism
 * @param highShare with {@link Mode#HW_SEP}: percent of the lanes to each node that are reserved for high priority
 * @param lowShare percent of the lanes for low priority; both shares add up to 100
 * @param lightLoad with {@link Mode#SW_PRI}: below so many operations of high priority under way on average, low priority is
 *     not limited
 * @param heavyLoad from so many operations of high priority under way on average, low priority is limited
 * @param roundTripFactor low priority is limited when the round trip of high priority takes so many times its shortest
 * @param lowBytesPerSecond what low priority keeps at least, however much it is limited
 * @param quotas limits by principal, in every mode
 */
public record QosPolicy(
        Mode mode,
        int highShare,
        int lowShare,
        double lightLoad,
        double heavyLoad,
        double roundTripFactor,
        long lowBytesPerSecond,
        Map<String, Quota> quotas) {

    /** The smallest limit in bytes per second: one operation of 64 KiB. */
    public static final long BYTES_PER_SECOND_MIN = 64 << 10;

    /** The largest rate; a larger one limits nothing. */
    public static final long RATE_MAX = 1L << 40;

    /** The maximum number of principals with a quota. */
    public static final int QUOTAS_MAX = 1024;

    private static final int PERCENT = 100;
    private static final double LOAD_MAX = 1_000_000;
    private static final double FACTOR_MAX = 1000;

    /** No policy: nothing is limited, and nothing is counted. */
    public static final QosPolicy OFF = new QosPolicy(Mode.OFF, 75, 25, 0.1, 1, 2, BYTES_PER_SECOND_MIN, Map.of());

    /** The mechanism. */
    public enum Mode {
        /** Nothing is done. Quotas still apply. */
        OFF,
        /** Each priority has lanes of its own to each node; the paper's HW-Sep. */
        HW_SEP,
        /** The sender limits low priority while high priority needs the bottleneck; the paper's SW-Pri. */
        SW_PRI
    }

    /**
     * The limit of a principal at each node; at least one of both.
     *
     * @param bytesPerSecond null: no limit
     * @param operationsPerSecond null: no limit
     */
    public record Quota(
            @Nullable Long bytesPerSecond, @Nullable Long operationsPerSecond) {}

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException with what, the value and the limit
     */
    public QosPolicy {
        requireShare("highShare", highShare);
        requireShare("lowShare", lowShare);
        if (highShare + lowShare != PERCENT) {
            throw new IllegalArgumentException("highShare is %d and lowShare is %d, together %d; they must add up to %d"
                    .formatted(highShare, lowShare, highShare + lowShare, PERCENT));
        }
        requireWithin("heavyLoad", heavyLoad, 0, LOAD_MAX);
        requireWithin("lightLoad", lightLoad, 0, heavyLoad);
        requireWithin("roundTripFactor", roundTripFactor, 1, FACTOR_MAX);
        requireRate("lowBytesPerSecond", lowBytesPerSecond, BYTES_PER_SECOND_MIN);
        if (quotas.size() > QUOTAS_MAX) {
            throw new IllegalArgumentException(
                    "quotas has %d principals; the limit is %d".formatted(quotas.size(), QUOTAS_MAX));
        }
        quotas.forEach(QosPolicy::requireQuota);
        quotas = java.util.Collections.unmodifiableMap(new TreeMap<>(quotas));
    }

    /** A copy with another mechanism. */
    public QosPolicy withMode(Mode newMode) {
        return new QosPolicy(
                newMode, highShare, lowShare, lightLoad, heavyLoad, roundTripFactor, lowBytesPerSecond, quotas);
    }

    /** A copy with these quotas instead of the former ones. */
    public QosPolicy withQuotas(Map<String, Quota> newQuotas) {
        return new QosPolicy(
                mode, highShare, lowShare, lightLoad, heavyLoad, roundTripFactor, lowBytesPerSecond, newQuotas);
    }

    /**
     * How many of a number of lanes are for high priority, at least one for each.
     *
     * @param lanes at least two
     */
    public int highLanes(int lanes) {
        int rounded = (int) Math.round(lanes * (double) highShare / PERCENT);
        return Math.clamp(rounded, 1, lanes - 1);
    }

    private static void requireShare(String what, int percent) {
        if (percent < 1 || percent >= PERCENT) {
            throw new IllegalArgumentException(
                    "%s is %d; it must be 1 to %d percent".formatted(what, percent, PERCENT - 1));
        }
    }

    private static void requireWithin(String what, double value, double min, double max) {
        if (!(value >= min && value <= max)) { // also refuses what is no number
            throw new IllegalArgumentException("%s is %s; it must be %s to %s".formatted(what, value, min, max));
        }
    }

    private static void requireRate(String what, long value, long min) {
        if (value < min || value > RATE_MAX) {
            throw new IllegalArgumentException("%s is %d; it must be %d to %d".formatted(what, value, min, RATE_MAX));
        }
    }

    private static void requireQuota(String principal, @Nullable Quota quota) {
        Set<?> unused = LmrHandle.checkGrant(principal, Set.of());
        Long bytes = quota == null ? null : quota.bytesPerSecond(); // null in JSON
        Long operations = quota == null ? null : quota.operationsPerSecond();
        if (bytes == null && operations == null) {
            throw new IllegalArgumentException(
                    "the quota of \"%s\" is empty; it must have bytesPerSecond, operationsPerSecond or both"
                            .formatted(principal));
        }
        if (bytes != null) {
            requireRate("bytesPerSecond of \"%s\"".formatted(principal), bytes, BYTES_PER_SECOND_MIN);
        }
        if (operations != null) {
            requireRate("operationsPerSecond of \"%s\"".formatted(principal), operations, 1);
        }
    }
}
