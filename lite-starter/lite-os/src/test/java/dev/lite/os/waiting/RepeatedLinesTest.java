package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class RepeatedLinesTest {
    private static final long SECOND_NS = 1_000_000_000;
    private final RepeatedLines lines = new RepeatedLines(2, Duration.ofSeconds(10));

    @Test
    void linesBeyondTheLimitAreCountedAndTheNextOneTellsTheirNumber() {
        assertThat(lines.suffix("a", 0)).isEmpty();
        assertThat(lines.suffix("a", SECOND_NS)).isEmpty();
        for (int i = 0; i < 1000; i++) {
            assertThat(lines.suffix("a", 2 * SECOND_NS)).isNull();
        }
        assertThat(lines.suffix("b", 2 * SECOND_NS)).as("another kind").isEmpty();
        assertThat(lines.suffix("a", 11 * SECOND_NS)).contains("1000 more");
        assertThat(lines.suffix("a", 11 * SECOND_NS)).isEmpty();
    }

    @Test
    void aSingleLineThatWasNotWrittenIsInTheSingular() {
        for (int i = 0; i < 3; i++) {
            String unused = lines.suffix("a", 0);
        }
        assertThat(lines.suffix("a", 11 * SECOND_NS)).isEqualTo(" (and 1 more such line that was not written)");
    }

    @Test
    void manyKindsShareOneLimitInsteadOfTakingMemory() {
        int written = 0;
        for (int kind = 0; kind < 10_000; kind++) {
            written += lines.suffix("kind " + kind, 0) == null ? 0 : 1;
        }
        assertThat(written).isLessThan(300);
    }
}
