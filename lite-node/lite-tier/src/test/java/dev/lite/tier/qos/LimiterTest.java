package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Operations that are larger than a piece. The test gives the permits. */
class LimiterTest {
    /** The lowest rate. */
    private static final long PER_SECOND = 64 << 10;

    private static final long PIECE = 16 << 10;
    private static final long LARGE = 64 << 20;
    private final GivenPermits given = new GivenPermits();
    private final Limiter limiter = new Limiter(rate -> given);

    private void refill(long permits) {
        given.batch = permits;
        limiter.refill();
    }

    private static void begin(Runnable waiting, AtomicBoolean granted) {
        Thread thread = Thread.ofPlatform().daemon().start(waiting);
        Waits.until("it waits, or is granted", () -> granted.get() || thread.getState() == Thread.State.TIMED_WAITING);
    }

    @Test
    void aLargeOperationLeavesTheOthersTheirPart() {
        limiter.limit(PER_SECOND);
        refill(1);
        assertThat(limiter.tryTake("large", LARGE)).isTrue();
        AtomicBoolean granted = new AtomicBoolean();
        begin(() -> granted.set(limiter.take("small", 4096, Deadline.in(Duration.ofDays(1)))), granted);
        for (long given = 0; given < 4 * PIECE; given += 1024) {
            refill(1024);
        }
        Waits.until("it has begun", granted::get);
    }

    @Test
    void aLargeOperationIsCountedInFull() {
        limiter.limit(PER_SECOND);
        refill(1);
        long large = 100 * PIECE;
        assertThat(limiter.tryTake("large", large)).isTrue();
        for (long given = 0; given < large; given += 1024) {
            assertThat(limiter.tryTake("large", 1)).as("after %d bytes", given).isFalse();
            refill(1024);
        }
        assertThat(limiter.used()).isEqualTo(large);
        assertThat(limiter.tryTake("large", 1)).as("its debt is paid").isTrue();
    }

    @Test
    void aBatchThatComesLateIsUsedInFull() {
        limiter.limit(PER_SECOND);
        refill(1_000);
        assertThat(limiter.tryTake("first", 1_000)).isTrue();
        refill(10_000);
        assertThat(takeAll()).isEqualTo(10_000);
    }

    @Test
    void batchesThatComeLateAndThatNobodyNeedsAreNotSavedUp() {
        limiter.limit(PER_SECOND);
        for (long batch : new long[] {1_000, 1_000, 10_000, 10_000, 1_000, 1_000}) {
            refill(batch);
        }
        assertThat(takeAll()).isEqualTo(10_000);
    }

    private long takeAll() {
        long taken = 0;
        while (limiter.tryTake("all", 1_000)) {
            taken += 1_000;
        }
        return taken;
    }
}
