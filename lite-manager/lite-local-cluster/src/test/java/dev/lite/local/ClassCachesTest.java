package dev.lite.local;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClassCachesTest {
    private static final Path JAVA = Path.of(System.getProperty("java.home"), "bin", "java");

    @TempDir
    Path directory;

    private Path manager;
    private Path node;

    @BeforeEach
    void makeExtractedJars() throws IOException {
        manager = extracted("manager");
        node = extracted("node");
    }

    private Path extracted(String name) throws IOException {
        Path parent = Files.createDirectory(directory.resolve(name));
        Files.writeString(Files.createDirectory(parent.resolve("lib")).resolve("a.jar"), "one");
        return FakeJar.in(parent);
    }

    @Test
    void aProcessStartsFromTheCacheOfItsJarOnceItIsMade() throws IOException {
        assertThat(ClassCaches.options(JAVA, node)).isEmpty();
        assertThat(ClassCaches.isMissing(JAVA, manager, node)).isTrue();
        ClassCaches.make(JAVA, manager, node, line -> {});
        assertThat(ClassCaches.isMissing(JAVA, manager, node)).isFalse();
        assertThat(caches()).hasSize(1);
        assertThat(ClassCaches.options(JAVA, node)).containsExactly("-XX:AOTCache=" + caches().getFirst());
        try (LocalCluster cluster = LocalCluster.builder()
                .jars(manager, node)
                .sharedMemory(directory.resolve("shm"))
                // Without a usable cache this JVM would not start.
                .nodeJavaOption("-XX:AOTMode=on")
                .nodes(1)
                .build()) {
            cluster.up(line -> {});
        }
    }

    @Test
    void aLibraryOfTheSameSizeAndTimeWithOtherBytesNeedsAnotherCache() throws IOException {
        Path library = node.resolveSibling("lib").resolve("a.jar");
        FileTime time = Files.getLastModifiedTime(library);
        ClassCaches.make(JAVA, manager, node, line -> {});
        Files.writeString(library, "two");
        Files.setLastModifiedTime(library, time);
        assertThat(ClassCaches.options(JAVA, node)).isEmpty();
        ClassCaches.make(JAVA, manager, node, line -> {});
        assertThat(ClassCaches.options(JAVA, node)).hasSize(1);
        assertThat(caches()).as("the old cache is removed").hasSize(1);
    }

    @Test
    void unfinishedCachesOfProcessesThatWereKilledAreRemovedAndThoseOfRunningOnesStay()
            throws IOException, InterruptedException {
        Process ended = new ProcessBuilder("true").start();
        assertThat(ended.waitFor()).isZero();
        Path left = node.resolveSibling("fake-exec-01234567.aot." + ended.pid());
        // A JVM writes it before the cache.
        Path leftConfiguration = node.resolveSibling(left.getFileName() + ".config");
        Path written = node.resolveSibling(
                "fake-exec-01234567.aot." + ProcessHandle.current().pid());
        Path writtenConfiguration = node.resolveSibling(written.getFileName() + ".config");
        Files.writeString(left, "left");
        Files.writeString(leftConfiguration, "left");
        Files.writeString(written, "written");
        Files.writeString(writtenConfiguration, "written");

        ClassCaches.make(JAVA, manager, node, line -> {});

        assertThat(left).doesNotExist();
        assertThat(leftConfiguration).doesNotExist();
        assertThat(written).exists();
        assertThat(writtenConfiguration).exists();
        assertThat(caches()).hasSize(1);
    }

    @Test
    void aJarThatIsNotExtractedHasNoCache() throws IOException {
        for (Path jar : List.of(manager, node)) {
            Files.delete(jar.resolveSibling("lib").resolve("a.jar"));
            Files.delete(jar.resolveSibling("lib"));
        }
        assertThat(ClassCaches.options(JAVA, node)).isEmpty();
        assertThat(ClassCaches.isMissing(JAVA, manager, node)).isFalse();
    }

    private List<Path> caches() throws IOException {
        try (var files = Files.list(directory.resolve("node"))) {
            return files.filter(file -> file.toString().endsWith(".aot")).toList();
        }
    }
}
