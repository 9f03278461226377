package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A small in-memory file system that simulates a full disk. */
record SmallDisk(Path at) implements AutoCloseable {
    private static final String SIZE = "32m";
    private static final int STEP = 64 << 10;

    static Optional<String> unavailable() {
        try {
            return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0)
                    ? Optional.empty()
                    : Optional.of("mounting a small file system needs root");
        } catch (IOException e) {
            return Optional.of("the user cannot be determined: " + e.getMessage());
        }
    }

    static @Nullable SmallDisk mount(Path at) {
        int status = run("mount", "-t", "tmpfs", "-o", "size=" + SIZE, "tmpfs", at.toString());
        return status == 0 ? new SmallDisk(at) : null;
    }

    private Path filler() {
        return at.resolve("filler");
    }

    void fill() throws IOException {
        byte[] step = new byte[STEP];
        try (OutputStream filler = Files.newOutputStream(filler())) {
            while (true) {
                filler.write(step);
            }
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("No space left");
        }
    }

    void clear() throws IOException {
        Files.deleteIfExists(filler());
    }

    @Override
    public void close() {
        int status = run("umount", at.toString());
        assertThat(status).as("umount " + at).isZero();
    }

    private static int run(String... command) {
        try {
            Process process = new ProcessBuilder(command).inheritIO().start();
            return process.waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
