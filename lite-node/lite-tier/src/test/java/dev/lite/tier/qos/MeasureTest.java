package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosPolicy.Mode;
import org.junit.jupiter.api.Test;

/** What is measured at each bottleneck, tick by tick. The time and the machine are numbers. */
class MeasureTest {
    private static final long TICK_NS = 20_000_000;
    private static final int TICKS = 400;
    private static final long LINK_BYTES_PER_TICK = 200_000;

    private final QosPolicy policy = QosPolicy.OFF.withMode(Mode.SW_PRI);
    private final ClassCounts high = new ClassCounts();
    private final ClassCounts low = new ClassCounts();
    private int runnable;
    private int underWay;
    private final Measure measure = new Measure(
            high,
            low,
            new Machine() {
                @Override
                public int processors() {
                    return 4;
                }

                @Override
                public int runnable() {
                    return runnable;
                }

                @Override
                public int underWay() {
                    return underWay;
                }

                @Override
                public int highUnderWay() {
                    return underWay;
                }
            },
            0);
    private final LowLimit links = new LowLimit(rate -> new NoPermits());
    private final LowLimit mapped = new LowLimit(rate -> new NoPermits());
    private long nowNs;

    private static final class NoPermits implements Permits {
        @Override
        public long takeAll() {
            return 0;
        }

        @Override
        public void setPerSecond(long perSecond) {
            // nobody takes permits
        }
    }

    private void ticks(Runnable each) {
        for (int tick = 0; tick < TICKS; tick++) {
            each.run();
            nowNs += TICK_NS;
            measure.sample();
            boolean unused = measure.tick(policy, nowNs, links, mapped);
        }
    }

    @Test
    void lowPriorityKeepsAPartOfWhatTheLinksCarry() {
        ticks(() -> high.ended(10, LINK_BYTES_PER_TICK / 10, TICK_NS));
        long linkPerSecond = LINK_BYTES_PER_TICK * 50;
        assertThat(links.limiter.perSecond()).isBetween(linkPerSecond * 2 / 100, linkPerSecond * 4 / 100);
        assertThat(mapped.limiter.isLimited()).as("mapped memory is not used").isFalse();
    }

    @Test
    void lowPriorityKeepsTheLeastRateOfASlowLink() {
        ticks(() -> high.ended(10, 100, TICK_NS));
        assertThat(links.limiter.perSecond()).isEqualTo(policy.lowBytesPerSecond());
    }

    @Test
    void copiesAreLimitedWhileThreadsOfHighPriorityWaitForProcessors() {
        underWay = 1;
        runnable = 20;
        ticks(() -> {});
        assertThat(mapped.limiter.perSecond()).isEqualTo(Measure.LOW_MAPPED_BYTES_PER_SECOND);
        assertThat(links.limiter.isLimited()).as("the links are not used").isFalse();
    }

    @Test
    void copiesAreNotLimitedWhileThereAreProcessorsForAll() {
        underWay = 3;
        runnable = 4;
        ticks(() -> {});
        assertThat(mapped.limiter.isLimited()).isFalse();
    }

    @Test
    void copiesAreLimitedWhileHighPriorityHasMoreThanTheProcessors() {
        underWay = 5;
        ticks(() -> {});
        assertThat(mapped.limiter.perSecond()).isEqualTo(Measure.LOW_MAPPED_BYTES_PER_SECOND);
    }

    @Test
    void aBusyMachineLimitsNobodyWithoutHighPriority() {
        runnable = 40;
        ticks(() -> {});
        assertThat(mapped.limiter.isLimited()).isFalse();
    }

    @Test
    void theLoadOfAMachineIsReadFromItsLine() {
        assertThat(ThisMachine.runnable("1.81 0.94 2.23 7/482 14976\n")).isEqualTo(6);
        assertThat(ThisMachine.runnable("")).isZero();
        assertThat(ThisMachine.runnable("1.81 0.94 2.23 x/482 14976")).isZero();
        assertThat(new ThisMachine().runnable()).isNotNegative();
    }
}
