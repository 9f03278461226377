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
 * Ahead-of-time class caches of a manager and a node (JEP 483, 514), with which a process starts with half the work. Running a cluster
 * of one node creates them, once per build. If the JVM cannot create them, the tests run without them, slower.
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

    /** The JVM options of a manager. */
    static List<String> managerOptions() {
        return options(MANAGER);
    }

    /** The JVM options of a node. */
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
        // A JVM writes its cache when it exits, which takes some seconds.
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
                        "the class cache %s was not created; processes start slower without it".formatted(cache)));
    }
}
