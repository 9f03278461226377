package dev.lite.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** A shell script that stops a cluster after its launcher has ended. */
final class StopScript {

    private static final String TEXT = """
            #!/bin/sh
            # Stops the LITE cluster %1$s and removes its directories.
            running() {
              # The process id may have been reused.
              tr '\\0' '\\n' 2>/dev/null < "/proc/$1/cmdline" | grep -qx -e '--lite.cluster.name=%1$s'
            }
            for pid in %2$s; do
              if running "$pid"; then kill "$pid"; fi
            done
            for pid in %2$s; do
              tries=0
              while running "$pid" && [ "$tries" -lt 150 ]; do
                sleep 0.1
                tries=$((tries + 1))
              done
              if running "$pid"; then kill -9 "$pid"; fi
            done
            rm -rf %3$s
            """;

    private StopScript() {}

    /** Writes the script; it signals the processes in the given order. */
    static Path write(Path script, String cluster, List<Long> pids, List<Path> directories) {
        String text = TEXT.formatted(
                cluster,
                pids.stream().map(String::valueOf).collect(Collectors.joining(" ")),
                directories.stream().map(directory -> "'" + directory + "'").collect(Collectors.joining(" ")));
        try {
            return Files.writeString(script, text);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + script, e);
        }
    }
}
