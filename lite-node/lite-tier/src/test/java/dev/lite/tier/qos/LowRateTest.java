package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.tier.qos.LowRate.Bounds;
import dev.lite.tier.qos.LowRate.Measured;
import org.junit.jupiter.api.Test;

/** The three rules of the paper, tick by tick; there is no clock. */
class LowRateTest {
    private static final long LEAST = 1 << 20;
    private static final Bounds BOUNDS = new Bounds(0.1, 1, LEAST);
    private static final long LOW_BYTES_PER_SECOND = 1_000_000_000;

    private final LowRate rate = new LowRate();

    private long tick(double load, boolean longer) {
        return rate.tick(BOUNDS, new Measured(load, longer, LOW_BYTES_PER_SECOND));
    }

    private long ticks(int count, double load, boolean longer) {
        long last = 0;
        for (int tick = 0; tick < count; tick++) {
            last = tick(load, longer);
        }
        return last;
    }

    @Test
    void lowPriorityIsLimitedWhileTheLoadOfHighPriorityIsHeavy() {
        long first = ticks(10, 8, false);
        assertThat(first).isPositive().isLessThan(1_000_000_000);
        assertThat(ticks(50, 8, false)).isEqualTo(LEAST);
    }

    @Test
    void lowPriorityIsNotLimitedWithoutHighPriority() {
        assertThat(ticks(100, 0, false)).isEqualTo(LowRate.UNLIMITED);
    }

    @Test
    void lowPriorityIsNotLimitedWithLittleHighPriority() {
        assertThat(ticks(100, 0.05, false)).isEqualTo(LowRate.UNLIMITED);
    }

    @Test
    void theLimitEndsSoonAfterHighPriorityDoes() {
        ticks(50, 8, false);
        assertThat(ticks(50, 0, false)).isEqualTo(LowRate.UNLIMITED);
    }

    @Test
    void aShortPauseOfHighPriorityDoesNotEndTheLimit() {
        ticks(50, 8, false);
        assertThat(tick(0, false)).isEqualTo(LEAST);
    }

    @Test
    void aLongerRoundTripOfHighPriorityLimitsLowPriorityBelowAHeavyLoad() {
        assertThat(ticks(50, 0.5, false)).as("load is neither light nor heavy").isEqualTo(LowRate.UNLIMITED);
        assertThat(ticks(1, 0.5, true)).isPositive();
        long later = ticks(5, 0.5, true);
        assertThat(ticks(50, 0.5, false)).as("it gets more again").isGreaterThan(later);
    }

    @Test
    void theLimitFollowsWhatLowPriorityKeeps() {
        assertThat(ticks(50, 8, false)).isEqualTo(LEAST);
        assertThat(rate.tick(new Bounds(0.1, 1, 3 * LEAST), new Measured(8, false, 0)))
                .isEqualTo(3 * LEAST);
        assertThat(rate.tick(new Bounds(0.1, 1, LEAST), new Measured(8, false, 0)))
                .isEqualTo(3 * LEAST / 2);
    }
}
