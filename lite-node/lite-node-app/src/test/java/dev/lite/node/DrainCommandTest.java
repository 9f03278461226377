package dev.lite.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class DrainCommandTest {

    @Test
    void aTokenThatNoHeaderCanCarryIsNotPrinted() {
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        int status = DrainCommand.run(
                new String[] {"http://127.0.0.1:1/actuator/litedrain", "1"},
                "0123456789abcdef\n",
                new PrintStream(errors, true, StandardCharsets.UTF_8));
        assertThat(status).isEqualTo(1);
        assertThat(errors.toString(StandardCharsets.UTF_8))
                .startsWith("drain: LITE_NODE_MANAGEMENT_TOKEN must consist of visible ASCII characters")
                .doesNotContain("0123456789abcdef");
    }
}
