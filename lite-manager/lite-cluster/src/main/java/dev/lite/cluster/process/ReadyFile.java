package dev.lite.cluster.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Map;

/**
 * A properties file by which a process reports to its launcher that it is ready, and its addresses: {@code pid} and more
 * entries. It is created atomically and removed when the process shuts down cleanly.
 */
public final class ReadyFile implements AutoCloseable {
    private final Path path;

    private ReadyFile(Path path) {
        this.path = path;
    }

    /**
     * Writes the file, replacing one of an earlier run. Creates the directory if it is missing.
     *
     * @param values in the order in which they are written; keys and values must not contain a line break
     * @throws StartException when it cannot be written
     */
    public static ReadyFile write(Path path, Map<String, String> values) {
        StringBuilder text = new StringBuilder();
        values.forEach((key, value) ->
                text.append(key).append('=').append(value.replace("\\", "\\\\")).append('\n'));
        text.append("pid=").append(ProcessHandle.current().pid()).append('\n');
        Path absolute = path.toAbsolutePath();
        // Always the same name, so that what a killed process left is replaced.
        Path temporary = absolute.resolveSibling(absolute.getFileName() + ".tmp");
        try {
            Path parent = absolute.getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            try {
                Files.deleteIfExists(temporary);
                Files.writeString(temporary, text, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                Files.move(temporary, absolute, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(temporary); // of a write that failed, as on a full disk
            }
        } catch (IOException e) {
            throw new StartException(
                    "cannot write the ready file %s: %s".formatted(absolute, e),
                    "Set lite.ready-file to a file in a directory that this user may write to.",
                    e);
        }
        return new ReadyFile(absolute);
    }

    /** Removes the file. Idempotent. */
    @Override
    public void close() {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove the ready file %s".formatted(path), e);
        }
    }
}
