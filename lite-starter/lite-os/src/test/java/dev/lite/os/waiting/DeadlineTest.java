package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class DeadlineTest {
    private static final Duration HOURS = Duration.ofHours(10);

    @Test
    void operationsThatBeginTogetherShareADeadline() {
        Deadline first = Deadline.about(HOURS, null);

        assertThat(Deadline.about(Duration.ofHours(10), first)).isSameAs(first);
    }

    @Test
    void anotherDurationIsAnotherDeadline() {
        Deadline first = Deadline.about(HOURS, null);

        Deadline shorter = Deadline.about(Duration.ofHours(9), first);

        assertThat(shorter.remaining()).isLessThanOrEqualTo(Duration.ofHours(9)).isGreaterThan(Duration.ofHours(8));
    }

    @Test
    void aReusedDeadlineIsAtMostAThousandthShorter() {
        Duration duration = Duration.ofMillis(100);
        Deadline deadline = Deadline.about(duration, null);
        long endNs = System.nanoTime() + Duration.ofMillis(20).toNanos();
        while (System.nanoTime() - endNs < 0) {
            long beforeNs = System.nanoTime();
            deadline = Deadline.about(duration, deadline);
            long gotNs = deadline.endNs() - beforeNs;
            // Tolerates that the thread was preempted after it read the clock.
            assertThat(gotNs).isGreaterThanOrEqualTo(duration.toNanos() * 999 / 1000);
        }
    }

    @Test
    void anExpiredDeadlineIsNotReused() {
        Duration nothing = Duration.ZERO;
        Deadline over = Deadline.about(nothing, null);
        long startNs = System.nanoTime();
        while (System.nanoTime() == startNs) {
            Thread.onSpinWait();
        }

        assertThat(Deadline.about(nothing, over)).isNotSameAs(over);
    }
}
