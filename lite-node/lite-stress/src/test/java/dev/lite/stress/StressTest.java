package dev.lite.stress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Runs the tests of this module whose names end in Stress, shortly; jcstress makes processes of its own. For a long run see
 * the module's pom.
 */
class StressTest {
    private static final int TESTS = 6;
    private static final long DEADLINE_SECONDS = 600;

    @Test
    void nothingForbiddenWasSeen() throws IOException, InterruptedException {
        Path results = Path.of(System.getProperty("lite.stress.results"));
        Files.createDirectories(results);
        Path output = results.resolve("output.txt");
        Process process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-classpath",
                        System.getProperty("java.class.path"),
                        "org.openjdk.jcstress.Main",
                        "-t",
                        ".*Stress",
                        // The default splits tests over every mode of the compiler: far more than a build has time for.
                        "-sc",
                        "false",
                        "-af",
                        "NONE",
                        "-f",
                        "1",
                        "-iters",
                        "2",
                        "-time",
                        System.getProperty("lite.stress.time-ms"),
                        "-jvmArgsPrepend",
                        "--enable-native-access=ALL-UNNAMED",
                        "-r",
                        results.toString()))
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .directory(results.toFile())
                .start();
        try {
            assertThat(process.waitFor(Waits.seconds(DEADLINE_SECONDS)))
                    .as("jcstress ended; see " + output)
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(Files.readString(output))
                .contains("Failed tests: No matches.", "Error tests: No matches.")
                // A test that has more threads than the machine has processors would be left out silently.
                .contains("All remaining tests: %d matching test results".formatted(TESTS));
        assertThat(process.exitValue()).isZero();
    }
}
