package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DurationsTest {
    @ParameterizedTest
    @CsvSource({
        "PT9.5S, 9.5 s",
        "PT0S, 0 s",
        "PT10S, 10 s",
        "PT20M, 1200 s",
        "PT0.25S, 250 ms",
        "PT0.0015S, 1.5 ms",
        "PT0.0000012S, 1.2 µs",
        "PT0.000000001S, 0.001 µs",
        "PT1.2345678S, 1.235 s",
        "PT-5S, -5 s",
        "PT2562047788015215H, 9223372036854774000 s"
    })
    void aDurationIsWrittenWithItsUnit(Duration duration, String text) {
        assertThat(Durations.text(duration)).isEqualTo(text);
    }
}
