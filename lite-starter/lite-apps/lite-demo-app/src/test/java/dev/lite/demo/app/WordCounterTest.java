package dev.lite.demo.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class WordCounterTest {

    /** The bytes of random texts, chosen so that word bytes, separators and ignored bytes occur in every combination. */
    private static final byte[] ALPHABET = {' ', '\t', '\n', 0x0b, '\f', '\r', 'a', 'Z', '~', 0, 1, 0x7f, (byte) 0xe9};

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''                 | 0 | 0",
                "' '                | 0 | 0",
                "'a'                | 1 | 1",
                "'  two words '     | 2 | 2",
                "'a\tb\nc\u000bd\fe\rf' | 6 | 6",
                "'a \u0001 b'       | 3 | 2",
                "'\u0001'           | 1 | 0",
                "'\u0001a\u0001'    | 1 | 1",
                "'a\u0000b'         | 1 | 1",
                "'a\u00e9 \u00e9'   | 2 | 1",
                "'a\u007fb'         | 1 | 1",
                "'a\u00a0b'         | 1 | 1",
            })
    void countsRunsOfBytesThatAreNoSpace(String text, long any, long printable) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        assertThat(whole(WordRule.ANY, bytes)).isEqualTo(any);
        assertThat(whole(WordRule.PRINTABLE, bytes)).isEqualTo(printable);
    }

    @ParameterizedTest
    @EnumSource
    void theCountsOfTwoPartsAddUpForAnyBoundary(WordRule rule) {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < 2_000; round++) {
            byte[] text = text(random, random.nextInt(40));
            long expected = whole(rule, text);
            for (int boundary = 0; boundary <= text.length; boundary++) {
                int window = 1 + random.nextInt(4);
                assertThat(part(rule, text, 0, boundary, window) + part(rule, text, boundary, text.length, window))
                        .as("seed %d, round %d, boundary %d", seed, round, boundary)
                        .isEqualTo(expected);
            }
        }
    }

    @Test
    void agreesWithWcOnRandomBytes(@TempDir Path directory) throws IOException, InterruptedException {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        Path file = directory.resolve("text");
        Files.write(file, new byte[] {1});
        long ofOneControl = wc(file);
        WordRule rule = ofOneControl == 0 ? WordRule.PRINTABLE : WordRule.ANY;
        byte[] bytes = new byte[100_000];
        random.nextBytes(bytes);
        Files.write(file, bytes);
        assertThat(whole(rule, bytes)).as("seed %d", seed).isEqualTo(wc(file));
        byte[] text = text(random, 100_000);
        Files.write(file, text);
        assertThat(whole(rule, text)).as("seed %d", seed).isEqualTo(wc(file));
    }

    private static long wc(Path file) throws IOException, InterruptedException {
        assumeThat(Path.of("/usr/bin/wc")).exists();
        ProcessBuilder builder = new ProcessBuilder("wc", "-w", file.toString());
        builder.environment().put("LC_ALL", "C");
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        return Long.parseLong(output.strip().split(" ", 2)[0]);
    }

    private static byte[] text(SplittableRandom random, int length) {
        byte[] text = new byte[length];
        for (int i = 0; i < length; i++) {
            text[i] = ALPHABET[random.nextInt(ALPHABET.length)];
        }
        return text;
    }

    private static long whole(WordRule rule, byte[] text) {
        return part(rule, text, 0, text.length, Math.max(1, text.length));
    }

    private static long part(WordRule rule, byte[] text, int from, int to, int window) {
        WordCounter counter = new WordCounter(rule);
        int before = from;
        while (before > 0 && !counter.lookBehind(text, Math.max(0, before - window), before)) {
            before = Math.max(0, before - window);
        }
        for (int i = from; i < to; i += window) {
            counter.add(text, i, Math.min(to, i + window));
        }
        return counter.words();
    }
}
