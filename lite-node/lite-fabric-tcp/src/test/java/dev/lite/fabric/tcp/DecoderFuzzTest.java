package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Fuzzes the decoder with Jazzer in a separate process, starting with mostly valid frames. To fuzz longer, pass
 * {@code -Dlite.test.args=-Dlite.fuzz.seconds=600}.
 */
class DecoderFuzzTest {
    private static final double TIME_SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    private static final int SEEDS = 40;

    @TempDir
    Path directory;

    @Test
    void noInputMakesTheDecoderLeaveItsMemoryOrHang() throws IOException, InterruptedException {
        long seconds = Long.getLong("lite.fuzz.seconds", 10);
        Path corpus = Files.createDirectory(directory.resolve("corpus"));
        for (int seed = 0; seed < SEEDS; seed++) {
            Files.write(corpus.resolve("seed-" + seed), input(seed));
        }
        Path output = directory.resolve("output.txt");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=allow",
                        "-XX:+EnableDynamicAgentLoading",
                        "-classpath",
                        System.getProperty("java.class.path"),
                        "com.code_intelligence.jazzer.Jazzer",
                        "--target_class=" + DecoderFuzzer.class.getName(),
                        "--instrumentation_includes=dev.lite.fabric.tcp.**",
                        "--custom_hook_includes=dev.lite.fabric.tcp.**",
                        "--reproducer_path=" + directory,
                        "-max_total_time=" + seconds,
                        "-max_len=" + (Long.BYTES + FrameFuzzTest.INPUT),
                        "-timeout=20",
                        corpus.toString())
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(process.waitFor((long) (TIME_SCALE * (seconds + 120)), TimeUnit.SECONDS))
                    .as(() -> tail(output))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).as(() -> tail(output)).isZero();
        assertThat(tail(output)).as("Jazzer got coverage data").contains("cov:").contains("Done ");
    }

    /** An input: a seed for cutting it into pieces, then frames. */
    private static byte[] input(long seed) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment frames = arena.allocate(FrameFuzzTest.INPUT, 8);
            int length = FrameFuzzTest.frames(new Random(seed), frames);
            return ByteBuffer.allocate(Long.BYTES + length)
                    .putLong(seed)
                    .put(frames.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE))
                    .array();
        }
    }

    private static String tail(Path output) {
        try {
            String text = Files.readString(output);
            return text.substring(Math.max(0, text.length() - 6_000));
        } catch (IOException e) {
            return e.toString();
        }
    }
}
