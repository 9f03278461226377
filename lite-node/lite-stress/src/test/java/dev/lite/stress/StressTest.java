package dev.lite.stress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Briefly runs the tests of this module whose names end in Stress; jcstress starts its own processes. The module's pom
 * explains long runs.
 */
class StressTest {
    private static final int TESTS = 33;
    private static final long DEADLINE_SECONDS = 600;

    /**
     * The one mode of the JVM in which a build runs the tests: the second compiler with its order of instructions shuffled,
     * where jcstress finds the most. Without this argument it takes all modes in turn, five times the processor time.
     */
    private static final String ONE_MODE =
            "-XX:+UnlockDiagnosticVMOptions -XX:+StressLCM -XX:+StressGCM -XX:+StressIGVN -XX:+StressCCP";

    @Test
    void noForbiddenResultIsObserved() throws IOException, InterruptedException {
        Path results = Path.of(System.getProperty("lite.stress.results"));
        Files.createDirectories(results);
        Path output = results.resolve("output.txt");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-classpath",
                System.getProperty("java.class.path"),
                "org.openjdk.jcstress.Main",
                "-t",
                ".*Stress",
                // The default runs tests in every compiler mode, which takes too long for a build.
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
                results.toString()));
        if (!Boolean.getBoolean("lite.stress.all-modes")) {
            command.addAll(List.of("-jvmArgs", ONE_MODE));
        }
        Process process = new ProcessBuilder(command)
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
                // jcstress silently skips a test with more threads than the machine has processors.
                .contains("All remaining tests: %d matching test results".formatted(TESTS));
        assertThat(process.exitValue()).isZero();
    }
}
