package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import org.junit.jupiter.api.Test;

class RequestPaceTest {
    private final RequestPace pace = new RequestPace();

    /** Requests without a pause. */
    private boolean stepUntilOthersRun() {
        for (int request = 0; request < 1_000_000; request++) {
            if (pace.step()) {
                return true;
            }
        }
        return false;
    }

    @Test
    void theFirstRequestsOfAPeriodCostNothingAndManyLetOthersRun() {
        assertThat(pace.step()).isFalse();
        assertThat(stepUntilOthersRun()).isTrue();
    }

    @Test
    void aNewPeriodBeginsAnew() {
        assertThat(stepUntilOthersRun()).isTrue();
        long endNs = System.nanoTime() + RequestPace.PERIOD_NS;
        Waits.until("the period is over", () -> System.nanoTime() - endNs > 0);
        assertThat(pace.step()).isFalse();
    }
}
