package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Each bound also holds if the test's thread runs late. */
class RateLimiterPermitsTest {
    private static final long PER_SECOND = 1_000_000;
    private static final long PERIOD_NS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long IN_PERIOD = PER_SECOND / 100;
    /** The periods that are saved up, and the one that has begun. */
    private static final long PERIODS_MAX = RateLimiterPermits.SAVED_NS / PERIOD_NS + 1;

    private static void passPeriods(long periods) {
        Waits.pass(Duration.ofNanos(periods * PERIOD_NS));
    }

    @Test
    void permitsOfPeriodsInWhichNobodyTookThemAreNotLost() {
        RateLimiterPermits permits = new RateLimiterPermits("late", PER_SECOND);
        long unused = permits.takeAll();
        passPeriods(6);
        assertThat(permits.takeAll()).isBetween(5 * IN_PERIOD, PERIODS_MAX * IN_PERIOD);
    }

    @Test
    void noMorePermitsAreSavedUpThanTheBound() {
        RateLimiterPermits permits = new RateLimiterPermits("idle", PER_SECOND);
        passPeriods(2 * PERIODS_MAX);
        assertThat(permits.takeAll()).isEqualTo(PERIODS_MAX * IN_PERIOD);
    }

    @Test
    void theSavedPermitsOfAHighRateAreNotKeptWhenTheRateFalls() {
        RateLimiterPermits permits = new RateLimiterPermits("falling", 100 * PER_SECOND);
        passPeriods(2 * PERIODS_MAX);
        permits.setPerSecond(PER_SECOND);
        assertThat(permits.takeAll()).isBetween(IN_PERIOD, PERIODS_MAX * IN_PERIOD);
        passPeriods(2 * PERIODS_MAX);
        assertThat(permits.takeAll()).isEqualTo(PERIODS_MAX * IN_PERIOD);
    }

    @Test
    void asManyPeriodsAreSavedUpAfterTheRateRose() {
        RateLimiterPermits permits = new RateLimiterPermits("rising", PER_SECOND);
        permits.setPerSecond(100 * PER_SECOND);
        long unused = permits.takeAll();
        passPeriods(2 * PERIODS_MAX);
        assertThat(permits.takeAll()).isEqualTo(PERIODS_MAX * 100 * IN_PERIOD);
    }

    @Test
    void aChangeOfTheRateGivesNothing() {
        RateLimiterPermits permits = new RateLimiterPermits("changing", PER_SECOND);
        long beginNs = System.nanoTime();
        long given = permits.takeAll();
        assertThat(given).isPositive();
        for (int change = 0; change < 100; change++) {
            permits.setPerSecond(change % 2 == 0 ? 1_000 : PER_SECOND);
            given += permits.takeAll();
        }
        long periods = (System.nanoTime() - beginNs) / PERIOD_NS + 1;
        assertThat(given).isLessThanOrEqualTo((periods + PERIODS_MAX) * IN_PERIOD);
    }

    @Test
    void theHighestRatesDoNotOverflow() {
        for (long perSecond : new long[] {1L << 30, 64L << 30, 1L << 40, Long.MAX_VALUE}) {
            RateLimiterPermits permits = new RateLimiterPermits("high", perSecond);
            long unused = permits.takeAll();
            passPeriods(3);
            long few = 2 * Math.min(perSecond, 1L << 40) / 100;
            assertThat(permits.takeAll()).as("%d per second", perSecond).isGreaterThanOrEqualTo(few - few / 100);
        }
    }

    @Test
    void theLowestRateGivesItsFirstPermitAtOnce() {
        RateLimiterPermits permits = new RateLimiterPermits("low", 1);
        assertThat(permits.takeAll()).isBetween(1L, 2L);
    }
}
