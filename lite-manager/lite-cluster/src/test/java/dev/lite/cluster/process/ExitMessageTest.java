package dev.lite.cluster.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExitMessageTest {
    @TempDir
    Path directory;

    @Test
    void aMessageReplacesAFormerOne() throws IOException {
        Path file = Files.writeString(directory.resolve("message"), "a former and longer one");
        ExitMessage.write(file, "the port is in use");
        assertThat(file).hasContent("the port is in use");
    }

    @Test
    void aLongMessageIsCutBetweenTwoCharacters() {
        Path file = directory.resolve("message");
        ExitMessage.write(file, "x".repeat(4095) + "ü and more");
        assertThat(file).hasContent("x".repeat(4095));
    }

    @Test
    void aProcessWithoutAFileOrWithAnUnwritableOneJustEnds() {
        assertThatCode(() -> {
                    ExitMessage.write(null, "a message");
                    ExitMessage.write(directory.resolve("missing/message"), "a message");
                })
                .doesNotThrowAnyException();
        assertThat(directory.resolve("missing")).doesNotExist();
    }
}
