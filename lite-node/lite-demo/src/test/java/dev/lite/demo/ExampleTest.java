package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples as {@code mvn -Pexample} runs them, with real nodes. */
class ExampleTest {
    @TempDir
    Path directory;

    private final ByteArrayOutputStream output = new ByteArrayOutputStream();

    private ExampleMain example(String name) {
        return example(name, "");
    }

    private ExampleMain example(String name, String file) {
        Properties properties = new Properties();
        properties.putAll(System.getProperties());
        properties.setProperty("lite.example.file", file);
        properties.setProperty("lite.example", name);
        return new ExampleMain(properties, new PrintStream(output, true, StandardCharsets.UTF_8));
    }

    @Test
    void theLogKeepsEveryTransactionAcrossTheDeathOfANode() {
        assertThat(example("log").run()).isTrue();
        assertThat(output.toString(StandardCharsets.UTF_8))
                .contains("committed 40,000 transactions")
                .contains("read the rest: 40,000 in all")
                .contains("Read: \"before the restart\", \"after the restart\"")
                .contains("Deleted the log");
    }

    @Test
    void aJobCountsEveryWordAlthoughAWorkerIsKilled() throws IOException {
        Path text = Files.writeString(directory.resolve("text"), "one two two three three three\n".repeat(60_000));
        assertThat(example("mr", text.toString()).run()).isTrue();
        assertThat(output.toString(StandardCharsets.UTF_8))
                .containsSubsequence("180,000  three", "120,000  two", "60,000  one")
                .contains("Killed worker-")
                .contains("counter records = 60,000")
                .contains("3 words in the index");
    }

    @Test
    void anUnknownExampleIsRefusedWithTheNamesOfAll() {
        assertThatThrownBy(() -> example("logs"))
                .isInstanceOf(DemoFailedException.class)
                .hasMessageContaining("\"logs\"")
                .hasMessageContaining("[log, mr]");
    }
}
