package dev.lite.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A shell script that stops a cluster after its launcher has ended. It finds the processes by their argument with the cluster's
 * name, also those that somebody else started.
 */
final class StopScript {

    // The brackets keep grep from finding itself.
    private static final String TEXT = """
            #!/bin/sh
            # Stops every process of this user of the LITE cluster %1$s, nodes first, and then removes its directories.
            members() {
              for file in $(grep -lzxs -e '--lite[.]cluster[.]name=%1$s' /proc/[0-9]*/cmdline); do
                pid=${file#/proc/}
                pid=${pid%%/cmdline}
                if [ -O "/proc/$pid" ]; then echo "$pid"; fi
              done
            }
            nodes() {
              for pid in $(members); do
                if grep -qzs -e '^--lite[.]node[.]name=' "/proc/$pid/cmdline"; then echo "$pid"; fi
              done
            }
            await() {
              tries=0
              while [ -n "$($1)" ] && [ "$tries" -lt 150 ]; do
                sleep 0.1
                tries=$((tries + 1))
              done
            }
            end() {
              for pid in $($1); do kill "$pid" 2>/dev/null; done
              await "$1"
              for pid in $($1); do kill -9 "$pid" 2>/dev/null; done
              await "$1"
            }
            end nodes
            end members
            left=$(members)
            if [ -n "$left" ]; then
              echo "nothing was removed, because processes of the cluster %1$s still run:" $left >&2
              exit 1
            fi
            # This script at the end: as long as there is something to remove, it can run again.
            rm -rf %2$s || exit 1
            rm -rf %3$s || exit 1
            rmdir %4$s 2>/dev/null
            exit 0
            """;

    private StopScript() {}

    /**
     * Writes the script.
     *
     * @param removed what it removes with all contents; at last the script, or the directory that contains it
     * @param emptied what it removes only if it is empty then
     */
    static Path write(Path script, String cluster, List<Path> removed, List<Path> emptied) {
        int last = removed.size() - 1;
        try {
            return Files.writeString(
                    script,
                    TEXT.formatted(
                            cluster,
                            quoted(removed.subList(0, last)),
                            quoted(removed.subList(last, removed.size())),
                            quoted(emptied)));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + script, e);
        }
    }

    private static String quoted(List<Path> paths) {
        return paths.stream()
                .map(path -> "'" + path.toString().replace("'", "'\\''") + "'")
                .collect(Collectors.joining(" "));
    }
}
