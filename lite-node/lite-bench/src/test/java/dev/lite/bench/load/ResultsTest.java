package dev.lite.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ResultsTest {
    @Test
    void aFigureHasThreeDigitsAlsoBelowOne() {
        assertThat(Results.number(0.00725)).isEqualTo("0.00725");
        assertThat(Results.number(0.29)).isEqualTo("0.290");
        assertThat(Results.number(0.1)).isEqualTo("0.100");
        assertThat(Results.number(0.000794)).isEqualTo("0.000794");
    }

    @Test
    void aFigureOfOneOrMoreHasAtMostTwoDecimals() {
        assertThat(Results.number(1)).isEqualTo("1.00");
        assertThat(Results.number(9.876)).isEqualTo("9.88");
        assertThat(Results.number(123.45)).isEqualTo("123.5");
        assertThat(Results.number(12345.6)).isEqualTo("12346");
    }

    @Test
    void nothingAndHardlyAnythingHaveFewDigits() {
        assertThat(Results.number(0)).isEqualTo("0.00");
        assertThat(Results.number(1e-12)).isEqualTo("0.000000");
    }
}
