package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class CountsTest {
    @Test
    void onlyOneThingIsInTheSingular() {
        assertThat(Counts.text(1, "party", "parties")).isEqualTo("1 party");
        assertThat(Counts.text(0, "party", "parties")).isEqualTo("0 parties");
        assertThat(Counts.text(2, "party", "parties")).isEqualTo("2 parties");
        assertThat(Counts.text(-1, "party", "parties")).isEqualTo("-1 parties");
    }
}
