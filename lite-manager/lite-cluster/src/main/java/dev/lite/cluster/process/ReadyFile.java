package dev.lite.cluster.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;

/**
 * A small properties file by which a process tells whoever started it that it is ready, and where: {@code pid} and what
 * the process adds. It appears whole, and goes when the process stops in order.
 */
public final class ReadyFile implements AutoCloseable {
    private final Path path;

    private ReadyFile(Path path) {
        this.path = path;
    }

    /**
     * Writes the file, over one of an earlier run. The directory is made if it is missing.
     *
     * @param values in the order in which they are written; neither keys nor values may have a line break
     * @throws StartException when it cannot be written
     */
    public static ReadyFile write(Path path, Map<String, String> values) {
        StringBuilder text = new StringBuilder();
        values.forEach((key, value) ->
                text.append(key).append('=').append(value.replace("\\", "\\\\")).append('\n'));
        text.append("pid=").append(ProcessHandle.current().pid()).append('\n');
        Path absolute = path.toAbsolutePath();
        Path temporary = absolute.resolveSibling(
                absolute.getFileName() + "." + ProcessHandle.current().pid() + ".tmp");
        try {
            Path parent = absolute.getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            Files.writeString(temporary, text, StandardCharsets.UTF_8);
            Files.move(temporary, absolute, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new StartException(
                    "the ready file %s cannot be written: %s".formatted(absolute, e),
                    "Let lite.ready-file name a file in a directory that this user may write to.",
                    e);
        }
        return new ReadyFile(absolute);
    }

    /** Removes the file. A second call does nothing. */
    @Override
    public void close() {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            throw new UncheckedIOException("the ready file %s cannot be removed".formatted(path), e);
        }
    }
}
