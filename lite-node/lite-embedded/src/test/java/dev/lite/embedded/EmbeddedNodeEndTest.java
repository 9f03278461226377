package dev.lite.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real processes that end without closing their embedded node. */
class EmbeddedNodeEndTest {
    private static final int SIGKILL = 128 + 9;
    private static final int SIGTERM = 128 + 15;

    @TempDir
    Path temporary;

    private Path memory;

    @BeforeEach
    void makeMemory() throws IOException {
        memory = Files.createTempDirectory(Path.of("/dev/shm"), "lite-embedded-end");
    }

    /** Fails when something is left there. */
    @AfterEach
    void removeMemory() throws IOException {
        Files.delete(memory);
    }

    @Test
    void aProcessThatCallsExitLeavesNothing() throws IOException, InterruptedException {
        assertThat(end("exit")).isZero();
        assertThat(left()).isEmpty();
    }

    @Test
    void aProcessThatIsTerminatedLeavesNothing() throws IOException, InterruptedException {
        assertThat(end("terminate")).isEqualTo(SIGTERM);
        assertThat(left()).isEmpty();
    }

    @Test
    void aKilledProcessLeavesNoMemoryAndItsRunDirectoryGoesWithTheNextStart() throws IOException, InterruptedException {
        assertThat(end("kill")).isEqualTo(SIGKILL);
        assertThat(memory).isEmptyDirectory();
        assertThat(temporary).isNotEmptyDirectory();
        assertThat(end("exit")).isZero();
        assertThat(left()).isEmpty();
    }

    @Test
    void aStartKeepsTheRunDirectoryOfAProcessThatRuns() throws IOException, InterruptedException {
        Process running = start();
        try {
            awaitReady(running);
            assertThat(end("exit")).isZero();
            assertThat(left()).singleElement().asString().contains("lite-embedded-" + running.pid() + "-");
            assertThat(Files.exists(left().getFirst().resolve("shm.sock"))).isTrue();
        } finally {
            running.toHandle().destroy();
            assertThat(running.waitFor(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS))
                    .isTrue();
        }
        assertThat(left()).isEmpty();
    }

    /** The memory and the directories that processes have left. */
    private List<Path> left() throws IOException {
        try (Stream<Path> inMemory = Files.list(memory);
                Stream<Path> inTemporary = Files.list(temporary)) {
            return Stream.concat(inMemory, inTemporary)
                    .filter(path -> !path.getFileName().toString().startsWith("hsperfdata"))
                    .toList();
        }
    }

    /** Starts a process with a node, ends it, and returns its exit code. */
    private int end(String how) throws IOException, InterruptedException {
        Process process = start();
        try {
            awaitReady(process);
            assertThat(memory).as("the arena has no name").isEmptyDirectory();
            switch (how) {
                case "kill" -> process.toHandle().destroyForcibly(); // keeps its input open, unlike Process.destroy
                case "terminate" -> process.toHandle().destroy();
                default -> {
                    process.getOutputStream().write('\n');
                    process.getOutputStream().flush();
                }
            }
            assertThat(process.waitFor(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS))
                    .isTrue();
            return process.exitValue();
        } finally {
            process.destroyForcibly();
        }
    }

    private static void awaitReady(Process process) throws IOException {
        BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
        String line = output.readLine();
        while (line != null && !line.equals("ready")) {
            line = output.readLine(); // a log line
        }
        assertThat(line).isEqualTo("ready");
    }

    private Process start() throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:-UsePerfData",
                        "-Xmx64m",
                        "-Djava.io.tmpdir=" + temporary,
                        "-cp",
                        System.getProperty("java.class.path"),
                        Holder.class.getName(),
                        memory.toString())
                .redirectErrorStream(true)
                .start();
    }

    /** Runs an embedded node until its process is ended, or calls exit after a line of input. */
    static final class Holder {
        private Holder() {}

        @SuppressWarnings({"SystemOut", "SystemExitOutsideMain"})
        public static void main(String[] arguments) throws IOException {
            EmbeddedNode node = EmbeddedNode.start(EmbeddedNodeConfig.builder()
                    .arenaDirectory(Path.of(arguments[0]))
                    .arenaBytes(16 << 20)
                    .build());
            System.out.println("ready");
            int unused = System.in.read();
            System.out.println(node.name());
            System.exit(0);
        }
    }
}
