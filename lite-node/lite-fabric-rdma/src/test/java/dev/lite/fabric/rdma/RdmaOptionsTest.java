package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.lite.fabric.driver.ConnectionLimits;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The driver's settings. */
class RdmaOptionsTest {
    @Test
    void allSettingsHaveDefaults() {
        var options = RdmaOptions.of(Map.of());

        assertThat(options)
                .isEqualTo(
                        new RdmaOptions(null, null, 0, 2, 128, null, new ConnectionLimits(48, 5_000), 3_000, 1 << 30));
    }

    @Test
    void anUnknownOptionIsRefusedWithTheKnownOptions() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RdmaOptions.of(Map.of("lane", "1")))
                .withMessageContaining("'lane'")
                .withMessageContaining("lanes");
    }

    @ParameterizedTest
    @CsvSource({
        "lanes, 0, 1 to 4",
        "lanes, 5, 1 to 4",
        "lanes, two, number",
        "queue-depth, 32, 64 to 4096",
        "queue-depth, 100, power of two",
        "window-bytes, 1048575, 1048576 to 1073741824",
        "window-bytes, 1048577, power of two",
        "port, 65536, 0 to 65535",
        "connections-max, 0, 1 to 1024",
        "peer-timeout-ms, 299, 300 to 600000",
        "handshake-timeout-ms, 0, 1 to 60000",
        "secret, short, 16 to 1024"
    })
    void aValueOutOfRangeIsRefusedWithTheRange(String name, String value, String words) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RdmaOptions.of(Map.of(name, value)))
                .withMessageContaining(name)
                .withMessageContaining(words);
    }

    @Test
    void theSecretIsNotInTheStringForm() {
        var options = RdmaOptions.of(Map.of(RdmaOptions.SECRET, "0123456789abcdef"));

        assertThat(options.toString()).doesNotContain("0123456789abcdef").contains("secret=given");
    }
}
