package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RoundTripsTest {
    private final RoundTrips roundTrips = new RoundTrips();

    @Test
    void aRoundTripThatTakesLongerThanTheFactorAllowsHasGrown() {
        assertThat(roundTrips.haveGrown(1_000, 10, 2)).isFalse();
        assertThat(roundTrips.haveGrown(1_900, 10, 2)).isFalse();
        assertThat(roundTrips.haveGrown(2_100, 10, 2)).isTrue();
        assertThat(roundTrips.haveGrown(0, 0, 2)).as("nothing ended").isFalse();
    }

    @Test
    void aChangedRouteIsTheNewMeasureAfterSomeTime() {
        boolean grown = roundTrips.haveGrown(100, 1, 2);
        for (int tick = 0; tick < 3_000; tick++) {
            grown = roundTrips.haveGrown(300, 1, 2);
        }
        assertThat(grown).isFalse();
    }
}
