package dev.lite.bench.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ClosedLoopTest {
    private static final long RUN_NS = 20_000_000;

    @Test
    void aFailedOperationFailsTheRun() {
        ClosedLoop loop = new ClosedLoop(
                List.of(nowNs -> {
                    throw new IllegalArgumentException("broken");
                }),
                false);

        assertThatThrownBy(() -> loop.run(RUN_NS)).hasMessageContaining("broken");
    }

    @Test
    void afterAnOperationThatDidNotEndThereIsNoOtherRun() {
        CountDownLatch ends = new CountDownLatch(1);
        AtomicInteger begun = new AtomicInteger();
        ClosedLoop loop = new ClosedLoop(
                List.of(nowNs -> {
                    begun.incrementAndGet();
                    Waits.await(ends);
                    return nowNs;
                }),
                false,
                Duration.ofNanos(RUN_NS));

        assertThatThrownBy(() -> loop.run(RUN_NS)).hasMessageContaining("did not end within");
        ends.countDown();
        assertThatThrownBy(() -> loop.run(RUN_NS)).hasMessageContaining("did not end within");
        assertThat(begun).hasValue(1);
    }

    @Test
    void anOperationThatDoesNotCountIsNotInTheFigures() {
        ClosedLoop loop = new ClosedLoop(List.of(nowNs -> Operation.UNCOUNTED), false);

        Sample sample = loop.run(RUN_NS);

        assertThat(sample.perSecond()).isZero();
        assertThat(sample.slowest()).isZero();
    }

    @Test
    void aRunInWhichNothingCompletedIsSlowerThanAllOthers() {
        ClosedLoop loop = new ClosedLoop(List.of(nowNs -> Operation.UNCOUNTED), false);
        Sample other = new Sample(1, 10, 100, 1000, 1);

        Sample none = Sample.parse(loop.run(RUN_NS).toLine());

        assertThat(Sample.median(List.of(none, other, none)).medianNs()).isInfinite();
        assertThat(Sample.median(List.of(other, none, other))).isEqualTo(other);
    }

    @Test
    void aRunEndsItsOperationsAndTheNextRunBeginsThemAgain() {
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger ended = new AtomicInteger();
        AtomicBoolean ran = new AtomicBoolean();
        Operation operation = new Operation() {
            @Override
            public void begin() {
                begun.incrementAndGet();
            }

            @Override
            public long run(long nowNs) {
                ran.set(true);
                return nowNs;
            }

            @Override
            public void end() {
                ended.incrementAndGet();
            }
        };
        ClosedLoop loop = new ClosedLoop(List.of(operation), true);

        loop.run(RUN_NS);
        loop.run(RUN_NS);

        assertThat(ran).isTrue();
        assertThat(begun).hasValue(2);
        assertThat(ended).hasValue(2);
    }
}
