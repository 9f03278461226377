package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ArenaSpaceTest {

    private static final Path FILE = Path.of("/x/file");
    private static final long GIB = 1L << 30;

    @ParameterizedTest
    @ValueSource(longs = {1, 11_357, 4L << 20, 100L << 20, 3L << 30, 1L << 40})
    void threeArenasHoldTheFileWithASpareChunkEach(long bytes) {
        long arena = ArenaSpace.arenaBytes(bytes, 3);
        long chunks = Math.ceilDiv(bytes, 4L << 20);
        assertThat(arena)
                .isGreaterThan(Math.ceilDiv(chunks, 3) * (4L << 20))
                .isLessThan(bytes / 3 + bytes / 50 + (40L << 20));
        assertThat(arena % (2L << 20)).isZero();
    }

    @Test
    void tooLittleSharedMemoryIsReportedWithNeededAndFreeSpace() {
        assertThatThrownBy(() -> ArenaSpace.check(FILE, 3 * GIB, 2 * GIB, 100 * GIB))
                .isInstanceOf(DemoFailedException.class)
                .hasMessageContaining("3.0 GiB in /dev/shm")
                .hasMessageContaining("only 2.0 GiB are free")
                .hasMessageContaining("mount -o remount,size=3840M");
    }

    @Test
    void tooLittleMemoryIsReportedWithNeededAndAvailableMemory() {
        assertThatThrownBy(() -> ArenaSpace.check(FILE, 3 * GIB, 20 * GIB, 4 * GIB))
                .isInstanceOf(DemoFailedException.class)
                .hasMessageContaining("only 4.0 GiB are available");
        assertThatCode(() -> ArenaSpace.check(FILE, 3 * GIB, 20 * GIB, 5 * GIB)).doesNotThrowAnyException();
    }
}
