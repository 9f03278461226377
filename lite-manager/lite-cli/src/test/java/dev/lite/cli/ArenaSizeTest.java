package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class ArenaSizeTest {
    private static final long MIB = 1L << 20;

    @Test
    void nodesGetThe256MibThatAreWantedOrWhatFitsIntoHalfOfTheFreeMemory() {
        assertThat(ArenaSize.fitting(3, 8192 * MIB)).isEqualTo(256 * MIB);
        assertThat(ArenaSize.fitting(16, 2049 * MIB)).isEqualTo(64 * MIB);
        assertThat(ArenaSize.fitting(64, MIB)).isEqualTo(16 * MIB);
        assertThat(ArenaSize.fitting(1)).isBetween(16 * MIB, 256 * MIB);
    }

    @Test
    void arenasThatHaveNoRoomTogetherAreRefusedWithTheLargestOnes() {
        ArenaSize.requireRoom("1GB", 1024 * MIB, 3, 3072 * MIB);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ArenaSize.requireRoom("1GB", 1024 * MIB, 3, 3072 * MIB - 1))
                .withMessage("--arena is 1GB; with 3 nodes it must be at most 1023MB: /dev/shm has 3071MB free");
    }

    @Test
    void aSizeIsANumberWithAUnit() {
        assertThat(ArenaSize.parse("64mb")).isEqualTo(64 * MIB);
        assertThat(ArenaSize.parse("7")).isEqualTo(7);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ArenaSize.parse("much"))
                .withMessageContaining("--arena is \"much\"");
    }
}
