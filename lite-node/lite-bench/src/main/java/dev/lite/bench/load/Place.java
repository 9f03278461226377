package dev.lite.bench.load;

import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A temporary directory that is removed at the end, also when the benchmark is terminated. Used by one thread. */
public final class Place implements AutoCloseable {
    private static final Duration REMOVE = Duration.ofSeconds(5);
    private static final long PAUSE_NS = 50_000_000;

    private final Path path;
    private final Thread hook;

    /** Creates a directory in a parent. */
    public Place(Path parent) {
        try {
            path = Files.createTempDirectory(parent, "lite-bench");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create a directory in " + parent, e);
        }
        hook = Thread.ofPlatform().unstarted(this::removeAll);
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** The directory. */
    public Path path() {
        return path;
    }

    @Override
    public void close() {
        removeAll();
        Runtime.getRuntime().removeShutdownHook(hook);
    }

    /** Tries again while processes that were just killed still create files. */
    private void removeAll() {
        if (!Polling.until(this::remove, Deadline.in(REMOVE), PAUSE_NS)) {
            System.err.printf("cannot delete %s%n", path);
        }
    }

    private boolean remove() {
        if (!Files.exists(path)) {
            return true;
        }
        try (Stream<Path> paths = Files.walk(path)) {
            List<Path> deepestFirst = paths.sorted(Comparator.reverseOrder()).toList();
            for (Path each : deepestFirst) {
                Files.deleteIfExists(each);
            }
            return true;
        } catch (IOException | UncheckedIOException e) {
            return false;
        }
    }
}
