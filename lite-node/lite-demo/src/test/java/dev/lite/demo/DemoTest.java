package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The whole demo as a user starts it, with the executable jars of this build. */
@Execution(ExecutionMode.CONCURRENT)
class DemoTest {

    private static final long DEADLINE_SECONDS = Waits.seconds(120).toSeconds();

    @TempDir
    Path directory;

    private final List<String> output = new ArrayList<>();
    private @Nullable Process started;

    @AfterEach
    void end() {
        if (started != null) {
            started.destroyForcibly();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void aFileIsStoredReadBackComparedAndCountedWithoutLeavingAnything(String fabric) throws Exception {
        Path file = text(13_000_001);
        start(file, false, fabric);
        assertThat(exitStatus()).as(this::output).isZero();
        assertThat(output())
                .contains("Every comparison held.")
                .containsPattern("node-1 +[1-4] ")
                .containsPattern("node-2 +\\d+ +[0-9.]+ MiB +" + fabric)
                .containsPattern(" in [1-4] calls? to node-3")
                .contains("ok        extents, bytes and words of the replies and of the tally under the lock")
                .contains("ok        SHA-256 read back on node-2 and of the file on disk")
                .contains("ok        words by wc -w and the shared word")
                .containsPattern("fetchAdd +8 +\\d")
                .doesNotContain("WARN", "DIFFERENT");
        assertNothingIsLeft();
    }

    @ParameterizedTest
    @CsvSource({"INT, Starting the nodes", "TERM, Starting the applications"})
    void aDemoEndedByASignalLeavesNothing(String signal, String when) throws Exception {
        assumeThat(signal.equals("INT") && interruptIsIgnored())
                .as("this process ignores SIGINT, and so do its children")
                .isFalse();
        start(text(1_000_000), false);
        awaitLine(line -> line.startsWith(when));
        signal(signal, demo().pid());
        assertThat(exitStatus()).isNotZero();
        assertThat(output()).contains("Interrupted: stopping the cluster");
        assertNothingIsLeft();
    }

    @Test
    void aKeptClusterRunsUntilItIsStoppedWithThePrintedCommand() throws Exception {
        start(text(100), true);
        assertThat(exitStatus()).as(this::output).isZero();
        assertThat(processes()).hasSize(4);
        String script = output.getLast().strip();
        assertThat(script).startsWith("sh /tmp/lite-");
        Process stop = new ProcessBuilder("sh", "-c", script).start();
        assertThat(stop.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(stop.exitValue()).isZero();
        assertNothingIsLeft();
    }

    @ParameterizedTest
    @ValueSource(strings = {"missing", "."})
    void aFileThatCannotBeStoredIsReportedInOneLine(String name) throws Exception {
        started = command(directory.resolve(name), false, "shm").start();
        assertThat(exitStatus()).isEqualTo(1);
        assertThat(output).singleElement().asString().startsWith("The demo failed: the file " + directory);
    }

    private void start(Path file, boolean keep) throws IOException {
        start(file, keep, "shm");
    }

    private void start(Path file, boolean keep, String fabric) throws IOException {
        ProcessBuilder builder = command(file, keep, fabric);
        // All its processes run too briefly to benefit from the C2 compiler.
        builder.environment().put("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1");
        started = builder.start();
    }

    private static ProcessBuilder command(Path file, boolean keep, String fabric) {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx128m",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-Dlite.demo.file=" + file,
                        "-Dlite.demo.keep=" + keep,
                        "-Dlite.demo.fabric=" + fabric,
                        "-Dlite.demo.manager-jar=" + System.getProperty("lite.demo.manager-jar"),
                        "-Dlite.demo.node-jar=" + System.getProperty("lite.demo.node-jar"),
                        "-Dlite.demo.app-jar=" + System.getProperty("lite.demo.app-jar"),
                        DemoMain.class.getName())
                .redirectErrorStream(true);
    }

    private Path text(int bytes) throws IOException {
        long seed = System.nanoTime();
        System.out.println("seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        byte[] text = new byte[bytes];
        random.nextBytes(text);
        return Files.write(directory.resolve("text"), text);
    }

    private void awaitLine(Predicate<String> wanted) throws IOException {
        BufferedReader reader = demo().inputReader(StandardCharsets.UTF_8);
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            output.add(line);
            if (wanted.test(line)) {
                return;
            }
        }
        throw new AssertionError("the demo ended before it printed that line:\n" + output());
    }

    private int exitStatus() throws IOException, InterruptedException {
        BufferedReader reader = demo().inputReader(StandardCharsets.UTF_8);
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            output.add(line);
        }
        assertThat(demo().waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return demo().exitValue();
    }

    private String output() {
        return String.join("\n", output);
    }

    /** Whether this process ignores SIGINT, as in the background of a shell without job control; children inherit this. */
    private static boolean interruptIsIgnored() throws IOException {
        long interrupt = 1L << (2 - 1);
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("SigIgn:"))
                .map(line -> line.substring("SigIgn:".length()).strip())
                .anyMatch(mask -> (Long.parseUnsignedLong(mask, 16) & interrupt) != 0);
    }

    private static void signal(String signal, long pid) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("kill", "-" + signal, Long.toString(pid))
                        .start()
                        .waitFor())
                .isZero();
    }

    private void assertNothingIsLeft() {
        assertThat(processes()).isEmpty();
        assertThat(Path.of("/dev/shm/lite", cluster())).doesNotExist();
        String work = output.stream()
                .filter(line -> line.contains("socket /tmp/lite-"))
                .map(line -> line.replaceAll(".*socket (/tmp/lite-[^/]+)/.*", "$1"))
                .findFirst()
                .orElse("/tmp/lite-none");
        assertThat(Path.of(work)).doesNotExist();
    }

    /** The processes with the cluster's name on their command line. A zombie has no command line. */
    private List<ProcessHandle> processes() {
        try (Stream<ProcessHandle> all = ProcessHandle.allProcesses()) {
            return all.filter(process -> commandLine(process).contains("--lite.cluster.name=" + cluster() + "\0"))
                    .toList();
        }
    }

    private static String commandLine(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
        } catch (IOException | UncheckedIOException e) {
            return "";
        }
    }

    private String cluster() {
        return "demo-" + demo().pid();
    }

    private Process demo() {
        return Objects.requireNonNull(started, "the demo was not started");
    }
}
