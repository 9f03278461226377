package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Priority;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The operations of one session on mapped memory. The test gives the permits. */
class FlowTest {
    private static final long PER_SECOND = 64 << 10;
    private static final Deadline LONG = Deadline.in(Duration.ofDays(1));

    private final Limiter low = new Limiter(rate -> new GivenPermits());
    private final Limiter share = new Limiter(rate -> new GivenPermits());
    private final Flow flow = new Flow(
            "session",
            "app",
            Priority.LOW,
            new ClassCounts(),
            new ClassCounts(),
            new Limiter(rate -> new GivenPermits()),
            low,
            share,
            null);

    @Test
    void aRefusedOperationGivesNothingBackThatItDidNotTake() {
        low.limit(PER_SECOND);
        Thread waits = Thread.ofPlatform()
                .daemon()
                .start(() -> assertThatExceptionOfType(LmrUnavailableException.class)
                        .isThrownBy(() -> flow.take(true, 4096, LONG)));
        Waits.until("it waits", () -> waits.getState() == Thread.State.TIMED_WAITING);
        share.limit(PER_SECOND);
        waits.interrupt();
        Waits.join(waits);

        assertThat(share.used()).isZero();
        assertThat(share.tryTake("another", 1)).as("a permit").isFalse();
    }

    /** A limit that ends lets all operations continue that wait for it, without its permits. */
    @Test
    void aRefusedOperationGivesNothingBackToALimitThatBeganAfterItsOwn() {
        low.limit(PER_SECOND);
        share.limit(PER_SECOND);
        Thread waits = Thread.ofPlatform()
                .daemon()
                .start(() -> assertThatExceptionOfType(LmrUnavailableException.class)
                        .isThrownBy(() -> flow.take(true, 4096, LONG)));
        Waits.until("it waits", () -> waits.getState() == Thread.State.TIMED_WAITING);
        share.unlimit();
        share.limit(PER_SECOND);
        waits.interrupt();
        Waits.join(waits);

        assertThat(share.used()).isZero();
        assertThat(share.tryTake("another", 1)).as("a permit").isFalse();
    }
}
