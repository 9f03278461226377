package dev.lite.tier.qos;

import dev.lite.cluster.qos.QosPolicy;
import dev.lite.tier.qos.LowRate.Bounds;
import dev.lite.tier.qos.LowRate.Measured;

/** Measures both bottlenecks under {@link QosPolicy.Mode#SW_PRI} from one tick to the next. Confined to one thread. */
final class Measure {
    /** What low priority keeps of what the links carry. */
    private static final double LOW_PART = 0.03;

    /** What low priority keeps of mapped memory: a processor copies so much in a millisecond. */
    static final long LOW_MAPPED_BYTES_PER_SECOND = 4 << 20;

    private static final double OF_LAST_TICK = 0.05;
    private static final double WAITING_OF_LAST_TICK = 0.25;

    private final ClassCounts high;
    private final ClassCounts low;
    private final Machine machine;
    private final RoundTrips roundTrips = new RoundTrips();
    private ClassCounts.Sums lastHigh;
    private ClassCounts.Sums lastLow;
    private long lastNs;
    private double bytesPerSecond;
    private double waiting;
    private int samples;
    private long highUnderWay;
    private long underWay;
    private double wanted;

    /**
     * Begins now.
     *
     * @param high operations that need a fabric
     * @param low likewise
     */
    Measure(ClassCounts high, ClassCounts low, Machine machine, long nowNs) {
        this.high = high;
        this.low = low;
        this.machine = machine;
        lastHigh = high.sums();
        lastLow = low.sums();
        lastNs = nowNs;
    }

    /** When the last tick ended. */
    long lastNs() {
        return lastNs;
    }

    /** Between ticks: counts what is under way on mapped memory. */
    void sample() {
        samples++;
        highUnderWay += machine.highUnderWay();
        underWay += machine.underWay();
    }

    /** Ends a tick at both bottlenecks; true if one of the limits has begun or ended. */
    boolean tick(QosPolicy policy, long nowNs, LowLimit links, LowLimit mapped) {
        boolean linksChanged = links(policy, nowNs, links);
        return mapped(policy, mapped) || linksChanged;
    }

    private boolean links(QosPolicy policy, long nowNs, LowLimit limit) {
        ClassCounts.Sums nowHigh = high.sums();
        ClassCounts.Sums nowLow = low.sums();
        double seconds = (nowNs - lastNs) / 1e9;
        long highNs = nowHigh.nanos() - lastHigh.nanos();
        long lowBytes = nowLow.bytes() - lastLow.bytes();
        boolean longer = roundTrips.haveGrown(highNs, nowHigh.pieces() - lastHigh.pieces(), policy.roundTripFactor());
        double carried = (nowHigh.bytes() - lastHigh.bytes() + lowBytes) / seconds;
        bytesPerSecond += (carried - bytesPerSecond) * OF_LAST_TICK;
        lastHigh = nowHigh;
        lastLow = nowLow;
        lastNs = nowNs;
        long least = Math.max(policy.lowBytesPerSecond(), (long) (LOW_PART * bytesPerSecond));
        return limit.tick(
                new Bounds(policy.lightLoad(), policy.heavyLoad(), least),
                new Measured(highNs / (seconds * 1e9), longer, (long) (lowBytes / seconds)));
    }

    /** The threads that wanted a processor in the last tick, by processors; 0: few of them copied mapped memory. */
    double wanted() {
        return wanted;
    }

    /** Copies take longer while more threads want a processor than there are. */
    private boolean mapped(QosPolicy policy, LowLimit limit) {
        waiting += (machine.runnable() - waiting) * WAITING_OF_LAST_TICK;
        double now = samples == 0 ? 0 : (double) highUnderWay / samples;
        int processors = machine.processors();
        wanted = underWay < (long) samples * processors ? 0 : waiting / processors;
        samples = 0;
        highUnderWay = 0;
        underWay = 0;
        return limit.tick(
                new Bounds(
                        policy.lightLoad(),
                        policy.heavyLoad() * processors,
                        Math.max(policy.lowBytesPerSecond(), LOW_MAPPED_BYTES_PER_SECOND)),
                new Measured(now, waiting > processors, 0));
    }
}
