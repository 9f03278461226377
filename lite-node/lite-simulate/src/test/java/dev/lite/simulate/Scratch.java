package dev.lite.simulate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Directories for the arenas of simulations, one per process, on a memory file system. */
final class Scratch {
    private static final String PREFIX = "lite-simulate-";

    private Scratch() {}

    /**
     * This process's directory; it goes with the process. A killed process cannot remove its own: the next one does, for all whose
     * processes have ended.
     *
     * @param parent where they are
     */
    static Path ofThisProcess(Path parent) {
        sweep(parent);
        Path mine = parent.resolve(PREFIX + ProcessHandle.current().pid());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(mine), "remove " + mine));
        return mine;
    }

    /** Removes the directories of processes that have ended. */
    static void sweep(Path parent) {
        List<Path> all;
        try (Stream<Path> files = Files.list(parent)) {
            all = files.filter(file -> isOfEndedProcess(file.getFileName().toString()))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list " + parent, e);
        }
        all.forEach(Scratch::delete);
    }

    private static boolean isOfEndedProcess(String name) {
        if (!name.matches(PREFIX + "\\d{1,18}")) {
            return false;
        }
        long pid = Long.parseLong(name.substring(PREFIX.length()));
        return ProcessHandle.of(pid).isEmpty();
    }

    /** Removes a directory and what is in it. */
    static void delete(Path path) {
        if (!Files.exists(path)) {
            return;
        }
        try (Stream<Path> all = Files.walk(path)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(each);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + path, e);
        }
    }
}
