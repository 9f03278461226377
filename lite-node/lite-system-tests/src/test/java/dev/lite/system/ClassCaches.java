package dev.lite.system;

import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The loaded and linked classes of a manager and a node, kept in a file from which a JVM takes them when it starts (JEP 483,
 * 514): a process then starts with half the work. A cluster of one node that starts and ends makes them, once for a build.
 * Without them (a JVM that cannot make them) everything goes on, slower.
 */
final class ClassCaches {
    private static final Path DIRECTORY =
            Path.of(System.getProperty("lite.system.logs")).resolveSibling("class-caches");
    private static final Path MANAGER = DIRECTORY.resolve("manager.aot");
    private static final Path NODE = DIRECTORY.resolve("node.aot");

    static {
        if (!isCurrent(MANAGER, Clusters.managerJar()) || !isCurrent(NODE, Clusters.nodeJar())) {
            make();
        }
    }

    private ClassCaches() {}

    /** What to give to the JVM of a manager. */
    static List<String> managerOptions() {
        return options(MANAGER);
    }

    /** What to give to the JVM of a node. */
    static List<String> nodeOptions() {
        return options(NODE);
    }

    private static List<String> options(Path cache) {
        return Files.isRegularFile(cache) ? List.of("-XX:AOTCache=" + cache) : List.of();
    }

    private static boolean isCurrent(Path cache, Path jar) {
        try {
            return Files.isRegularFile(cache)
                    && Files.getLastModifiedTime(cache).compareTo(Files.getLastModifiedTime(jar)) > 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void make() {
        try {
            Files.createDirectories(DIRECTORY);
            for (Path cache : List.of(MANAGER, NODE)) {
                Files.deleteIfExists(cache);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        // A JVM writes its cache when it ends, which takes it some seconds.
        try (LocalCluster cluster = Clusters.bareBuilder(ClassCaches.class.getSimpleName())
                .nodes(1)
                .fabrics("shm", "tcp")
                .stopDeadline(Waits.seconds(60))
                .managerJavaOption("-XX:AOTCacheOutput=" + MANAGER)
                .nodeJavaOption("-XX:AOTCacheOutput=" + NODE)
                .build()) {
            cluster.up(line -> {});
        }
        Stream.of(MANAGER, NODE)
                .filter(cache -> !Files.isRegularFile(cache))
                .forEach(cache -> System.out.println(
                        "no class cache %s was made; processes start slower without it".formatted(cache)));
    }
}
