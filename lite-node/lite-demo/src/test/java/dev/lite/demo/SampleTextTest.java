package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class SampleTextTest {

    @Test
    void theTextHasExactlyTheSizeItShouldHaveAndIsAlwaysTheSame() throws IOException {
        for (int bytes : new int[] {1, 99, 100, 101, 12_345}) {
            assertThat(text(bytes)).hasSize(bytes).isEqualTo(text(bytes));
        }
    }

    @Test
    void theTextConsistsOfLinesOfWords() throws IOException {
        String text = text(200_000);
        assertThat(text.lines().mapToInt(String::length).max().orElseThrow()).isBetween(80, 120);
        Set<String> words = Arrays.stream(text.split("[ .\n]+")).collect(Collectors.toSet());
        assertThat(words).hasSizeBetween(30, 60).contains("memory", "epoch");
    }

    @Test
    void theFileIsLargeEnoughForSeveralChunksOnEachNode() throws IOException {
        Path file = SampleText.write(SampleText.BYTES);
        try {
            assertThat(Files.size(file)).isEqualTo(64L << 20);
        } finally {
            Files.delete(file);
        }
    }

    private static String text(int bytes) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        SampleText.write(out, bytes);
        return out.toString(StandardCharsets.US_ASCII);
    }
}
