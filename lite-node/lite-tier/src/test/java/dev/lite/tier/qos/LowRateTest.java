package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosPolicy.Mode;
import dev.lite.tier.qos.LowRate.Measured;
import org.junit.jupiter.api.Test;

/** The three rules of the paper, tick by tick; there is no clock. */
class LowRateTest {
    private static final double TICK_SECONDS = 0.02;
    private static final long TICK_NS = 20_000_000;
    private static final long SHORT_NS = 10_000;

    private final QosPolicy policy = QosPolicy.OFF.withMode(Mode.SW_PRI);
    private final LowRate rate = new LowRate();

    private long tick(double load, long roundTripNs) {
        long operations = (long) (load * TICK_NS / roundTripNs);
        return rate.tick(
                policy, new Measured(TICK_SECONDS, operations, operations * roundTripNs, operations, 20_000_000));
    }

    private long ticks(int count, double load, long roundTripNs) {
        long last = 0;
        for (int tick = 0; tick < count; tick++) {
            last = tick(load, roundTripNs);
        }
        return last;
    }

    @Test
    void lowPriorityIsLimitedWhileTheLoadOfHighPriorityIsHeavy() {
        long first = ticks(10, 8, SHORT_NS);
        assertThat(first).isPositive().isLessThan(1_000_000_000);
        assertThat(ticks(50, 8, SHORT_NS)).isEqualTo(policy.lowBytesPerSecond());
    }

    @Test
    void lowPriorityIsNotLimitedWithoutHighPriority() {
        assertThat(ticks(100, 0, SHORT_NS)).isEqualTo(LowRate.UNLIMITED);
    }

    @Test
    void lowPriorityIsNotLimitedWithLittleHighPriority() {
        assertThat(ticks(100, 0.05, SHORT_NS)).isEqualTo(LowRate.UNLIMITED);
    }

    @Test
    void theLimitEndsSoonAfterHighPriorityDoes() {
        ticks(50, 8, SHORT_NS);
        assertThat(ticks(50, 0, SHORT_NS)).isEqualTo(LowRate.UNLIMITED);
    }

    @Test
    void aShortPauseOfHighPriorityDoesNotEndTheLimit() {
        ticks(50, 8, SHORT_NS);
        assertThat(tick(0, SHORT_NS)).isEqualTo(policy.lowBytesPerSecond());
    }

    @Test
    void aLongerRoundTripOfHighPriorityLimitsLowPriorityBelowAHeavyLoad() {
        assertThat(ticks(50, 0.5, SHORT_NS))
                .as("load is neither light nor heavy")
                .isEqualTo(LowRate.UNLIMITED);
        assertThat(ticks(1, 0.5, 3 * SHORT_NS)).isPositive();
        long later = ticks(5, 0.5, 3 * SHORT_NS);
        assertThat(ticks(50, 0.5, SHORT_NS)).as("it gets more again").isGreaterThan(later);
    }
}
