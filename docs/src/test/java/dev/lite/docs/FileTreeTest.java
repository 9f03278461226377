package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.docs.site.FileTree;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileTreeTest {
    @TempDir
    Path directory;

    @Test
    void aFileThatVanishesMeanwhileIsNotFound() throws IOException {
        for (String name : List.of("a", "b", "c")) {
            Files.createFile(directory.resolve(name));
        }
        List<Path> found = FileTree.files(directory, all -> true, this::deleteOthers);
        assertThat(found).hasSize(1);
    }

    private boolean deleteOthers(Path file) {
        try {
            for (String name : List.of("a", "b", "c")) {
                if (!file.endsWith(name)) {
                    Files.deleteIfExists(directory.resolve(name));
                }
            }
            return true;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void filesAreSortedAndDirectoriesCanBeLeftOut() throws IOException {
        for (String name : List.of("y/file", "target/file", "x/file", "x/other")) {
            Path file = directory.resolve(name);
            Files.createDirectories(file.getParent());
            Files.createFile(file);
        }
        assertThat(FileTree.files(directory, its -> !its.endsWith("target"), its -> its.endsWith("file")))
                .containsExactly(directory.resolve("x/file"), directory.resolve("y/file"));
    }

    @Test
    void aDirectoryThatDoesNotExistIsReported() {
        assertThatThrownBy(() -> FileTree.files(directory.resolve("absent"), all -> true, all -> true))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("absent");
    }
}
