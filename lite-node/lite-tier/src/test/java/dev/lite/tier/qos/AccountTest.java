package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The test gives the permits; nothing waits. */
class AccountTest {
    private static final Deadline NOW = Deadline.in(Duration.ZERO);

    private final GivenPermits given = new GivenPermits();
    private final Limiter limiter = new Limiter(rate -> given);
    private final Account first = new Account(limiter, "first");
    private final Account second = new Account(limiter, "second");

    private void refill(long permits) {
        given.batch = permits;
        limiter.refill();
    }

    @Test
    void withoutALimitThereAreAlwaysPermits() {
        assertThat(first.tryTake(Long.MAX_VALUE)).isTrue();
        assertThat(first.isLimited()).isFalse();
    }

    @Test
    void aBatchLastsForSeveralOperationsWithoutTheLimiter() {
        limiter.limit(10_000);
        refill(1);
        assertThat(first.tryTake(4)).as("takes ten, a millisecond's permits").isTrue();
        assertThat(second.tryTake(1)).as("the debt of the batch").isFalse();
        assertThat(first.tryTake(4)).isTrue();
        assertThat(first.tryTake(4)).as("two are left").isFalse();
        assertThat(first.tryTake(2)).isTrue();
    }

    @Test
    void sessionsTogetherGetNoMoreThanTheRate() {
        limiter.limit(10_000);
        long taken = 0;
        for (int refill = 0; refill < 1_000; refill++) {
            refill(50);
            while (first.tryTake(3)) {
                taken += 3;
            }
            while (second.tryTake(2)) {
                taken += 2;
            }
        }
        assertThat(taken).isBetween(49_000L, 50_030L);
    }

    @Test
    void aLargeOperationTakesItsOwnPermitsOnly() {
        limiter.limit(10_000);
        refill(100);
        assertThat(first.tryTake(100)).isTrue();
        assertThat(first.tryTake(1)).isFalse();
        assertThat(first.take(1, NOW)).isFalse();
    }

    @Test
    void whatIsGivenBackServesTheNextOperation() {
        limiter.limit(10_000);
        refill(1);
        assertThat(first.tryTake(10)).isTrue();
        first.giveBack(10);
        assertThat(first.tryTake(10)).isTrue();
    }
}
