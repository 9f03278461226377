package dev.lite.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * Ahead-of-time class caches of a manager and a node (JEP 483, 514, 515), with which a process starts with less than half the
 * work. A cache lies beside its jar, which must be an extracted one: a directory {@code lib} beside it has its libraries.
 *
 * <p>A JVM checks only the sizes and times of the jars, and reproducible builds give all jars the same time. So the checksum of
 * the jars, and of the JVM's release, is part of a cache's name. Any thread.
 */
public final class ClassCaches {
    private static final String ENDING = ".aot";
    /** Of the file that a JVM writes before its cache and removes after it, unless it is killed. */
    private static final String CONFIGURATION = ".config";
    /** A JVM writes its cache when it exits. */
    private static final Duration STOP_DEADLINE = Duration.ofMinutes(2);

    private ClassCaches() {}

    /** The JVM options with which a jar starts from its cache; none if there is no cache. Reads the jar and its libraries. */
    public static List<String> options(Path java, Path jar) {
        if (!isExtracted(jar)) {
            return List.of();
        }
        Path cache = cache(java, jar);
        return Files.isRegularFile(cache) ? List.of("-XX:AOTCache=" + cache) : List.of();
    }

    /** Whether {@link #make} would make a cache: a jar is extracted and has no cache that fits. */
    public static boolean isMissing(Path java, Path managerJar, Path nodeJar) {
        return Stream.of(managerJar, nodeJar)
                .anyMatch(jar -> isExtracted(jar)
                        && Files.isWritable(directory(jar))
                        && options(java, jar).isEmpty());
    }

    /**
     * Makes the caches by starting and stopping a cluster of one node, unless they exist. Removes the caches of earlier builds.
     *
     * @param progress receives a line for each step, on this thread
     * @throws ProcessFailedException when a process failed or a cache was not written; the cluster then starts without it
     */
    public static void make(Path java, Path managerJar, Path nodeJar, Consumer<String> progress) {
        Training manager = new Training(cache(java, managerJar));
        Training node = new Training(cache(java, nodeJar));
        Stream.of(managerJar, nodeJar).forEach(ClassCaches::removeCaches);
        LocalClusterBuilder builder = LocalCluster.builder()
                .name("prepare-" + ProcessHandle.current().pid())
                .jars(managerJar, nodeJar)
                .java(java)
                .nodes(1)
                .fabrics("shm", "tcp")
                .nodeProperty("lite.node.drain-timeout", "0s")
                .stopDeadline(STOP_DEADLINE);
        manager.options().forEach(builder::managerJavaOption);
        node.options().forEach(builder::nodeJavaOption);
        try {
            try (LocalCluster cluster = builder.build()) {
                cluster.up(progress);
                progress.accept("Writing the class caches");
            }
            Stream.of(manager, node).forEach(Training::publish);
        } finally {
            Stream.of(manager, node).forEach(Training::clean);
        }
    }

    /** A run of a JVM that writes a cache. It writes to another file first, which no other process may find half written. */
    private record Training(Path cache) {
        /**
         * The cache also has what the first compiler did, and later processes compile the same methods just so, without
         * profiling. That is right for the start, and wrong for the data path, which needs the second compiler: the training
         * does not compile the project's own methods.
         */
        List<String> options() {
            return List.of(
                    "-XX:TieredStopAtLevel=1",
                    "-XX:CompileCommand=quiet",
                    "-XX:CompileCommand=exclude,dev.lite.*::*",
                    "-XX:AOTCacheOutput=" + unfinished());
        }

        private Path unfinished() {
            return cache.resolveSibling(
                    cache.getFileName() + "." + ProcessHandle.current().pid());
        }

        void publish() {
            try {
                Files.move(unfinished(), cache, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException e) {
                throw new ProcessFailedException("the JVM did not write the class cache " + unfinished(), e);
            }
        }

        void clean() {
            try {
                Files.deleteIfExists(unfinished());
                Files.deleteIfExists(unfinished().resolveSibling(unfinished().getFileName() + CONFIGURATION));
            } catch (IOException e) {
                throw new UncheckedIOException("cannot remove " + unfinished(), e);
            }
        }
    }

    private static Path cache(Path java, Path jar) {
        CRC32C checksum = new CRC32C();
        try {
            Path home = java.toRealPath().resolveSibling("..").normalize();
            for (Path file : Stream.concat(Stream.of(home.resolve("release"), jar), libraries(jar).stream())
                    .toList()) {
                if (Files.exists(file)) {
                    checksum.update(Files.readAllBytes(file));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the jars of " + jar, e);
        }
        return directory(jar).resolve("%s-%08x%s".formatted(base(jar), checksum.getValue(), ENDING));
    }

    /** Also the unfinished ones of processes that were killed: they may have 100 MB each. */
    private static void removeCaches(Path jar) {
        try (DirectoryStream<Path> caches =
                Files.newDirectoryStream(directory(jar), base(jar) + "-*" + ENDING + "{,.*}")) {
            for (Path cache : caches) {
                String name = cache.getFileName().toString();
                String process = name.substring(name.lastIndexOf(ENDING) + ENDING.length())
                        .replace(CONFIGURATION, "")
                        .replace(".", "");
                if (name.endsWith(ENDING) || hasEnded(process)) {
                    Files.deleteIfExists(cache);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove the old class caches in " + directory(jar), e);
        }
    }

    private static boolean hasEnded(String process) {
        return process.matches("\\d{1,9}")
                && ProcessHandle.of(Long.parseLong(process)).isEmpty();
    }

    private static List<Path> libraries(Path jar) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(libraryDirectory(jar), "*.jar")) {
            jars.forEach(found::add);
        }
        return found.stream().sorted().toList();
    }

    private static boolean isExtracted(Path jar) {
        return Files.isDirectory(libraryDirectory(jar));
    }

    private static Path libraryDirectory(Path jar) {
        return directory(jar).resolve("lib");
    }

    private static Path directory(Path jar) {
        return jar.toAbsolutePath().normalize().resolveSibling("");
    }

    private static String base(Path jar) {
        return jar.getFileName().toString().replaceFirst("\\.jar$", "");
    }
}
