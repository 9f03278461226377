package dev.lite.bench.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class LatenciesTest {
    @Test
    void everyTimeIsOffByLessThanOnePercent() {
        for (long ns = 1; ns < 1L << 62; ns += Math.max(1, ns / 50)) {
            Latencies latencies = new Latencies();
            latencies.add(ns);
            assertThat(latencies.quantile(0.5)).as("%d ns", ns).isCloseTo((double) ns, within(ns * 0.01));
        }
    }

    @Test
    void aQuantileIsTheTimeThatItsShareDoesNotExceed() {
        Latencies latencies = new Latencies();
        for (int i = 0; i < 999; i++) {
            latencies.add(10);
        }
        latencies.add(50);

        assertThat(latencies.quantile(0.5)).isEqualTo(10);
        assertThat(latencies.quantile(0.999)).isEqualTo(10);
        assertThat(latencies.quantile(1)).isEqualTo(50);
    }

    @Test
    void histogramsOfSeveralThreadsAddUp() {
        Latencies one = new Latencies();
        Latencies other = new Latencies();
        one.add(1);
        other.add(3);
        other.add(3);

        one.add(other);

        assertThat(one.count()).isEqualTo(3);
        assertThat(one.quantile(0.5)).isEqualTo(3);
    }
}
