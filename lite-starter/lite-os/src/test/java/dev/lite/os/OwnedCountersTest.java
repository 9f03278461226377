package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OwnedCountersTest {
    @Test
    void theSumHasEveryAdditionOfEveryOwner() {
        OwnedCounters counters = new OwnedCounters(4, 3);
        List<Thread> owners = new ArrayList<>();
        for (int owner = 0; owner < 4; owner++) {
            int row = owner;
            owners.add(Thread.ofPlatform().start(() -> {
                for (int index = 0; index < 100_000; index++) {
                    long unused = counters.add(row, 1, 2);
                }
            }));
        }
        owners.forEach(Waits::join);
        assertThat(counters.sum(1)).isEqualTo(800_000);
        assertThat(counters.sum(0)).isZero();
        assertThat(counters.add(2, 1, 5)).isEqualTo(200_005);
    }
}
