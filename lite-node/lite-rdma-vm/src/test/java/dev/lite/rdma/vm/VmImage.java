package dev.lite.rdma.vm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The kernel and the initial file system of the virtual machines; made once and kept in the build directory. */
record VmImage(Path kernel, Path initrd) {
    private static final long DEADLINE_S = 300;

    /**
     * Makes the image if it does not exist.
     *
     * @throws UnavailableException with the reason when it cannot be made here
     */
    static VmImage make() throws UnavailableException {
        Path directory = VmFiles.root().resolve("image");
        Path log = VmFiles.root().resolve("make-image.log");
        try {
            Files.createDirectories(directory);
            Process process = new ProcessBuilder(
                            VmFiles.scripts().resolve("make-image.sh").toString(), directory.toString())
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            if (!process.waitFor(DEADLINE_S, TimeUnit.SECONDS)) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
                throw new UnavailableException("the image was not made within %d s; see %s".formatted(DEADLINE_S, log));
            }
            if (process.exitValue() != 0) {
                List<String> lines = Files.readAllLines(log, StandardCharsets.UTF_8);
                throw new UnavailableException(
                        lines.isEmpty() ? "make-image.sh failed without output" : lines.getLast());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
        return new VmImage(directory.resolve("kernel"), directory.resolve("initrd"));
    }

    /** Virtual machines are not possible here; the message says why. */
    static final class UnavailableException extends Exception {
        private static final long serialVersionUID = 1;

        UnavailableException(String message) {
            super(message);
        }
    }
}
