package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.junit.jupiter.api.Test;

/** The examples as {@code mvn -Pexample} runs them, with real nodes. */
class ExampleTest {
    private final ByteArrayOutputStream output = new ByteArrayOutputStream();

    private ExampleMain example(String name) {
        Properties properties = new Properties();
        properties.putAll(System.getProperties());
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
    void anUnknownExampleIsRefusedWithTheNamesOfAll() {
        assertThatThrownBy(() -> example("logs"))
                .isInstanceOf(DemoFailedException.class)
                .hasMessageContaining("\"logs\"")
                .hasMessageContaining("[log]");
    }
}
