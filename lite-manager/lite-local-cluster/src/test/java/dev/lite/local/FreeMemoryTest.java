package dev.lite.local;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class FreeMemoryTest {
    @Test
    void readsTheAvailableMemoryFromTheKernel() {
        assertThat(FreeMemory.available(List.of("MemTotal: 9 kB", "MemAvailable:     2048 kB")))
                .isEqualTo(2 << 20);
        assertThat(FreeMemory.available(List.of())).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void sharedMemoryWithoutALimitHasRoomForEverything() {
        assertThat(FreeMemory.shared(0, 0)).isEqualTo(Long.MAX_VALUE);
        assertThat(FreeMemory.shared(9, 0)).isZero();
    }

    @Test
    void thisMachineHasSomeMemoryLeft() {
        FreeMemory now = FreeMemory.now();
        assertThat(now.sharedBytes()).isPositive();
        assertThat(now.availableBytes()).isPositive();
    }
}
