package dev.lite.session.protocol;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class SessionAreaTest {
    @Test
    void slotsAndWindowsDoNotOverlapAndLieWithinTheArea() {
        for (int slots : new int[] {1, 2, 63, 64}) {
            SessionArea area = new SessionArea(slots, 8192);
            long end = SessionArea.slotOffset(slots - 1) + SessionArea.SLOT_BYTES;
            assertThat(SessionArea.slotOffset(0)).isGreaterThanOrEqualTo(SessionArea.SUBMITTED + Long.BYTES);
            assertThat(area.windowOffset(0)).isGreaterThanOrEqualTo(end).matches(at -> at % 4096 == 0);
            for (int slot = 1; slot < slots; slot++) {
                assertThat(area.windowOffset(slot)).isEqualTo(area.windowOffset(slot - 1) + 8192);
                assertThat(SessionArea.slotOffset(slot)).isEqualTo(SessionArea.slotOffset(slot - 1) + 128);
            }
            assertThat(area.bytes()).isEqualTo(area.windowOffset(slots - 1) + 8192);
        }
    }

    @Test
    void everySlotHasItsOwnBit() {
        assertThat(new SessionArea(64, 4096).slotBits()).isEqualTo(-1);
        assertThat(new SessionArea(1, 4096).slotBits()).isEqualTo(1);
        assertThat(new SessionArea(63, 4096).slotBits()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void geometriesOutOfRangeAreRefused() {
        int[][] bad = {{0, 4096}, {65, 4096}, {-1, 4096}, {1, 0}, {1, 4095}, {1, 5000}, {1, -4096}, {1, 1 << 30}};
        for (int[] one : bad) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new SessionArea(one[0], one[1]))
                    .withMessageContaining("must be");
        }
    }
}
