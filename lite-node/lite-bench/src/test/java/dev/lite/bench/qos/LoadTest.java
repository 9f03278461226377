package dev.lite.bench.qos;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LoadTest {
    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);
    private final Load.Counts counts = new Load.Counts(0, 100 * MS, 300 * MS);

    @Test
    void theLastOperationOfARunIsInTheLatencies() {
        counts.ended(100 * MS, 299 * MS, 1);
        counts.ended(299 * MS, 799 * MS, 1);
        assertThat(counts.latencies.count()).isEqualTo(2);
        assertThat(counts.latencies.quantile(1)).isGreaterThan(400.0 * MS);
        assertThat(counts.steps[7]).as("and in the series").isEqualTo(1);
    }

    @Test
    void theBytesAreThoseOfTheOperationsThatEndedBetweenTheRampAndTheEnd() {
        counts.ended(0, 99 * MS, 1);
        counts.ended(99 * MS, 101 * MS, 10);
        counts.ended(101 * MS, 299 * MS, 100);
        counts.ended(299 * MS, 301 * MS, 1000);
        assertThat(counts.bytes).isEqualTo(110);
        assertThat(counts.latencies.count()).isEqualTo(2);
    }
}
