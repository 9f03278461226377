package dev.lite.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ScratchTest {
    @Test
    void theNextSimulationRemovesWhatAKilledOneLeft(@TempDir Path parent) throws IOException, InterruptedException {
        Process killed = new ProcessBuilder("true").start();
        long ended = killed.pid();
        assertThat(killed.waitFor()).isZero();
        Path left = Files.createDirectories(parent.resolve("lite-simulate-" + ended));
        Files.writeString(Files.createDirectories(left.resolve("arenas")).resolve("n0"), "memory");
        Path mine = Files.createDirectories(
                parent.resolve("lite-simulate-" + ProcessHandle.current().pid()));
        Path other = Files.createDirectories(parent.resolve("lite-simulate-of-somebody-else"));

        Scratch.sweep(parent);

        assertThat(left).doesNotExist();
        assertThat(mine).exists();
        assertThat(other).exists();
    }
}
