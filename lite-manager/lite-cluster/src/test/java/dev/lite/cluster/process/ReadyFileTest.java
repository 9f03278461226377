package dev.lite.cluster.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReadyFileTest {
    @TempDir
    Path directory;

    @Test
    void whatAKilledProcessLeftOfItsFileIsReplacedAndNothingIsLeftAtTheEnd() throws IOException {
        Path victim = Files.writeString(directory.resolve("victim"), "as it was");
        for (Path left : List.of(
                Files.writeString(directory.resolve("node.properties.tmp"), "half a li"),
                Files.createSymbolicLink(directory.resolve("another.properties.tmp"), victim))) {
            Path written = directory.resolve(left.getFileName().toString().replace(".tmp", ""));
            try (ReadyFile ready = ReadyFile.write(written, Map.of("url", "http://127.0.0.1:1"))) {
                assertThat(ready).isNotNull();
                assertThat(left).doesNotExist();
                assertThat(written)
                        .content()
                        .isEqualTo("url=http://127.0.0.1:1\npid=%d\n"
                                .formatted(ProcessHandle.current().pid()));
            }
        }
        assertThat(victim).hasContent("as it was");
        try (var files = Files.list(directory)) {
            assertThat(files).containsExactly(victim);
        }
    }

    @Test
    void aFileThatCannotBeWrittenLeavesNothingBesideIt() throws IOException {
        Path taken = Files.createDirectory(directory.resolve("taken"));
        Files.createFile(taken.resolve("file"));
        assertThatThrownBy(() -> ReadyFile.write(taken, Map.of()))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("cannot write the ready file " + taken);
        try (var files = Files.list(directory)) {
            assertThat(files).containsExactly(taken);
        }
    }
}
