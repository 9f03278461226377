package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.IntStream;
import java.util.zip.ZipEntry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalClustersTest {
    @TempDir
    Path directory;

    private LocalClusters clusters;

    @BeforeEach
    void make() {
        clusters = new LocalClusters(directory.resolve("clusters"));
    }

    @Test
    void aNameCanBeReservedOnceUntilItIsReleased() {
        clusters.reserve("a");
        assertThatThrownBy(() -> clusters.reserve("a"))
                .isInstanceOf(CommandFailedException.class)
                .hasMessageContaining("the cluster \"a\" is already running")
                .hasMessageContaining("lite down --name a");
        clusters.reserve("b");
        clusters.remove("a", clusters.require("a"));
        clusters.reserve("a");
        assertThat(clusters.find("a")).isPresent();
        assertThat(clusters.find("c")).isEmpty();
    }

    @Test
    void theRecordHasTheUrlOfAManagerThatWasStartedAgain() {
        clusters.reserve("a");
        clusters.moved("a", "http://127.0.0.1:7401");
        assertThat(clusters.onlyUrl()).isEmpty(); // it is still being started
        clusters.write("a", Map.of(LocalClusters.DIRECTORY, "/tmp/a", LocalClusters.URL, "http://127.0.0.1:7400"));
        clusters.moved("a", "http://127.0.0.1:7401");
        assertThat(clusters.onlyUrl()).contains("http://127.0.0.1:7401");
        assertThat(clusters.require("a")).containsEntry(LocalClusters.DIRECTORY, "/tmp/a");
        clusters.moved("b", "http://127.0.0.1:7402");
        assertThat(clusters.find("b")).isEmpty();
    }

    @Test
    void theMessageThatAClusterWasNotStartedHereNamesThoseThatWere() {
        assertThatThrownBy(() -> clusters.require("local"))
                .hasMessageStartingWith("no cluster \"local\" was started here: ")
                .hasMessageEndingWith("local.properties does not exist");
        clusters.reserve("b");
        clusters.reserve("a");
        assertThatThrownBy(() -> clusters.require("local"))
                .hasMessageEndingWith("local.properties does not exist; started here: a, b; give one as --name");
    }

    @Test
    void aFailedStartReleasesItsNameButAClusterThatWasLeftBehindDoesNot() throws IOException, InterruptedException {
        Process ended = new ProcessBuilder("true").start();
        assertThat(ended.waitFor()).isZero();
        Files.createDirectories(directory.resolve("clusters"));
        Files.writeString(clusters.file("a"), "pid=" + ended.pid() + "\n");
        clusters.reserve("a");
        Files.writeString(clusters.file("a"), "directory=/tmp/x\nurl=http://127.0.0.1:1\npid=" + ended.pid() + "\n");
        assertThat(clusters.removeKilledStart("a")).isFalse();
        assertThatThrownBy(() -> clusters.reserve("a"))
                .isInstanceOf(CommandFailedException.class)
                .hasMessageContaining("none of its processes runs")
                .hasMessageContaining("lite down --name a");
    }

    /** A start that was killed after it had created its directories. */
    private Path killedStart(String name) throws IOException, InterruptedException {
        return killedStart(
                name, Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString());
    }

    private Path killedStart(String name, String namespace) throws IOException, InterruptedException {
        Path work = Files.createDirectories(directory.resolve("work-" + name));
        Files.writeString(work.resolve("stop.sh"), "rm -rf '%s'\n".formatted(work));
        Path file = abandoned(name);
        Files.writeString(file, Files.readString(file) + "namespace=%s\ndirectory=%s\n".formatted(namespace, work));
        return work;
    }

    /** Nobody sees its processes from here. */
    @Test
    void aStartInAnotherContainerWithTheSameHomeDirectoryIsNotTakenForAKilledOne()
            throws IOException, InterruptedException {
        Path work = killedStart("a", "pid:[1]");
        assertThat(clusters.removeKilledStart("a")).isFalse();
        assertThat(work).isDirectory();
        assertThatThrownBy(() -> clusters.reserve("a")).isInstanceOf(CommandFailedException.class);
    }

    @Test
    void whatAKilledStartLeftIsRemovedAndItsNameIsFree() throws IOException, InterruptedException {
        Path work = killedStart("a");
        assertThat(clusters.removeKilledStart("a")).isTrue();
        assertThat(work).doesNotExist();
        assertThat(clusters.find("a")).isEmpty();
        clusters.reserve("a");
        assertThat(clusters.removeKilledStart("a")).as("one under way").isFalse();
        assertThat(clusters.isBeingStarted("a")).isTrue();
    }

    @Test
    void aKilledStartWhoseProcessesRunIsReportedWithTheCommandThatStopsThem() throws IOException, InterruptedException {
        String name = "killed-" + ProcessHandle.current().pid();
        Path work = killedStart(name);
        // Runs until its standard input ends.
        Process node = new ProcessBuilder(
                        "sh", "-c", "read line", "sh", "--lite.cluster.name=" + name, "--lite.node.name=node-1")
                .start();
        try {
            assertThat(clusters.removeKilledStart(name)).isFalse();
            assertThatThrownBy(() -> clusters.reserve(name))
                    .isInstanceOf(CommandFailedException.class)
                    .hasMessageContaining("was killed")
                    .hasMessageContaining("node-1 (process %d)", node.pid())
                    .hasMessageContaining("lite down --name " + name);
            assertThat(work.resolve("stop.sh")).exists();
        } finally {
            node.destroyForcibly();
        }
        assertThat(node.waitFor()).isNotZero();
        assertThat(clusters.removeKilledStart(name)).isTrue();
        assertThat(work).doesNotExist();
    }

    /** Another process may have created the file and not yet written it. */
    @Test
    void aRecordWithoutAProcessIsNotTakenForAnAbandonedStart() throws IOException {
        Files.createDirectories(directory.resolve("clusters"));
        Files.createFile(clusters.file("a"));
        assertThatThrownBy(() -> clusters.reserve("a")).isInstanceOf(CommandFailedException.class);
        assertThat(clusters.file("a")).isEmptyFile();
    }

    @Test
    void aReaderFindsEveryRecordComplete() {
        clusters.reserve("a");
        AtomicBoolean over = new AtomicBoolean();
        AtomicBoolean incomplete = new AtomicBoolean();
        Thread reader = Thread.ofPlatform().start(() -> {
            while (!over.get()) {
                if (!clusters.find("a").orElseThrow().containsKey("pid")) {
                    incomplete.set(true);
                }
            }
        });
        for (int count = 0; count < 2_000; count++) {
            clusters.write("a", Map.of(LocalClusters.URL, "http://127.0.0.1:" + count));
        }
        over.set(true);
        Waits.join(reader);
        assertThat(incomplete).isFalse();
        assertThat(directory.resolve("clusters").toFile().list()).containsExactly("a.properties");
    }

    @Test
    void aRecordThatIsRemovedWhileItIsReadIsNotThere() throws IOException {
        AtomicBoolean over = new AtomicBoolean();
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        Thread reader = Thread.ofPlatform()
                .start(() -> failure.set(catchThrowable(() -> {
                    while (!over.get()) {
                        clusters.find("a").ifPresent(found -> assertThat(found).containsKey("pid"));
                    }
                })));
        for (int round = 0; round < 5_000 && reader.isAlive(); round++) {
            Files.createDirectories(directory.resolve("clusters"));
            Files.writeString(directory.resolve("written"), "pid=1\n");
            Files.move(directory.resolve("written"), clusters.file("a"), StandardCopyOption.ATOMIC_MOVE);
            Files.delete(clusters.file("a"));
        }
        over.set(true);
        Waits.join(reader);
        assertThat(failure.get()).isNull();
    }

    @Test
    void aStartThatFailedReleasesOnlyANameThatItHasReserved() throws IOException {
        clusters.reserve("a");
        Files.writeString(clusters.file("a"), "pid=1\n");
        clusters.release("a");
        assertThat(clusters.find("a")).isPresent();
        clusters.write("a", Map.of());
        clusters.release("a");
        clusters.release("a");
        assertThat(clusters.find("a")).isEmpty();
    }

    @Test
    void anotherProcessWithTheIdOfAStartThatWasKilledIsNotTakenForIt() throws IOException {
        clusters.reserve("a");
        clusters.write(
                "a", Map.of(LocalClusters.DIRECTORY, directory.resolve("work").toString()));
        assertThat(clusters.isBeingStarted("a")).isTrue();
        // Written before this process began: after a restart of the machine, for example, it has the id of the
        // former one.
        FileTime former = FileTime.from(Instant.now().minus(Duration.ofDays(1)));
        Files.setLastModifiedTime(clusters.file("a"), former);
        assertThat(clusters.isBeingStarted("a")).isFalse();
        Files.writeString(clusters.file("a"), "pid=" + ProcessHandle.current().pid() + "\n");
        Files.setLastModifiedTime(clusters.file("a"), former);
        clusters.reserve("a");
        assertThat(clusters.isBeingStarted("a")).isTrue();
    }

    private Path abandoned(String name) throws IOException, InterruptedException {
        Process ended = new ProcessBuilder("true").start();
        assertThat(ended.waitFor()).isZero();
        Files.createDirectories(directory.resolve("clusters"));
        return Files.writeString(clusters.file(name), "pid=" + ended.pid() + "\n");
    }

    @Test
    void aStartThatTookTheNameOfAnAbandonedOneKeepsItThoughThatOneIsBeingRemoved()
            throws IOException, InterruptedException {
        Path file = abandoned("a");
        Properties read = clusters.require("a");
        clusters.reserve("a");
        assertThatThrownBy(() -> clusters.remove("a", read))
                .isInstanceOf(CommandFailedException.class)
                .hasMessageContaining(
                        "started again by process " + ProcessHandle.current().pid());
        assertThat(file).exists();
    }

    /** Each of two processes tries to reserve the names of all abandoned starts. They run until both have tried. */
    @Test
    void ofTwoStartsThatFindTheSameAbandonedOneExactlyOneTakesItsName() throws IOException, InterruptedException {
        List<String> names =
                IntStream.range(0, 300).mapToObj(number -> "c" + number).toList();
        String pid = Files.readString(abandoned("other"));
        for (String name : names) {
            Files.writeString(clusters.file(name), pid);
        }
        List<Process> starts = new ArrayList<>();
        try {
            List<BufferedReader> outputs = new ArrayList<>();
            for (int count = 0; count < 2; count++) {
                Process start = new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java")
                                        .toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                ReservingProcess.class.getName(),
                                directory.resolve("clusters").toString(),
                                Integer.toString(names.size()))
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
                starts.add(start);
                outputs.add(start.inputReader());
            }
            for (BufferedReader output : outputs) {
                assertThat(output.readLine()).isEqualTo("ready");
            }
            for (Process start : starts) {
                start.outputWriter().append("go\n").flush();
            }
            List<String> taken = new ArrayList<>();
            for (BufferedReader output : outputs) {
                output.readLine()
                        .lines()
                        .forEach(line -> taken.addAll(List.of(line.split(" ")))); // empty if it took none
            }
            assertThat(taken).containsExactlyInAnyOrderElementsOf(names);
            assertThat(names).allSatisfy(name -> assertThat(clusters.file(name)).exists());
        } finally {
            starts.forEach(Process::destroyForcibly);
        }
    }

    /** Reserves names as concurrent starts do, and prints those that it got. */
    static final class ReservingProcess {
        private ReservingProcess() {}

        public static void main(String[] args) throws IOException {
            LocalClusters clusters = new LocalClusters(Path.of(args[0]));
            System.out.println("ready");
            int unused = System.in.read();
            StringJoiner taken = new StringJoiner(" ");
            for (int number = 0; number < Integer.parseInt(args[1]); number++) {
                try {
                    clusters.reserve("c" + number);
                    taken.add("c" + number);
                } catch (CommandFailedException e) {
                    if (!String.valueOf(e.getMessage()).contains("is starting it")) {
                        throw e;
                    }
                }
            }
            System.out.println(taken);
            while (System.in.read() >= 0) { // until the test ends this process
                System.out.flush();
            }
        }
    }

    /** A manager that is never ready. It needs no other class. */
    static final class NeverReady {
        private NeverReady() {}

        public static void main(String[] args) throws InterruptedException {
            System.out.println("it starts");
            Thread.currentThread().join(60_000);
        }
    }

    private Path executableJar(Class<?> main) throws IOException {
        Path jar = directory.resolve("never-ready.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, main.getName());
        String entry = main.getName().replace('.', '/') + ".class";
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
                InputStream code = main.getClassLoader().getResourceAsStream(entry)) {
            out.putNextEntry(new ZipEntry(entry));
            Objects.requireNonNull(code).transferTo(out);
        }
        return jar;
    }

    private Process up(String name, String arena, Path output) throws IOException {
        String jar = executableJar(NeverReady.class).toString();
        ProcessBuilder command = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        LiteMain.class.getName(),
                        "up",
                        "--name=" + name,
                        "--nodes=1",
                        "--arena=" + arena,
                        "--manager-jar=" + jar,
                        "--node-jar=" + jar)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        command.environment().put("LITE_HOME", directory.toString());
        return command.start();
    }

    /** The exit status of a start with an arena for which no machine has room. */
    private int refused(String name, Path output) throws IOException, InterruptedException {
        Process up = up(name, "1000000000GB", output);
        try {
            assertThat(up.waitFor(Waits.seconds(60).toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            return up.exitValue();
        } finally {
            up.descendants().forEach(ProcessHandle::destroyForcibly);
            up.destroyForcibly();
        }
    }

    @Test
    void anArenaThatTheSharedMemoryHasNoRoomForIsRefusedBeforeAnyProcessStarts()
            throws IOException, InterruptedException {
        String name = "large-" + ProcessHandle.current().pid();
        Path output = directory.resolve("output");
        int status = refused(name, output);
        assertThat(output)
                .content()
                .matches(
                        "lite: --arena is 1000000000GB; with 1 node it must be at most \\d+MB: /dev/shm has \\d+MB free\n");
        assertThat(status).isEqualTo(ExitStatus.USAGE);
        assertThat(clusters.find(name)).isEmpty();
    }

    @Test
    void aStartOfAClusterThatIsThereIsRefusedForThatAlsoIfThereIsNoRoomForItsArenas()
            throws IOException, InterruptedException {
        Path work = directory.resolve("work");
        Files.createDirectories(work.resolve("commands"));
        clusters.reserve("a");
        clusters.write("a", Map.of(LocalClusters.DIRECTORY, work.toString(), LocalClusters.URL, "http://127.0.0.1:1"));
        Path output = directory.resolve("output");
        int status = refused("a", output);
        assertThat(output).content().contains("lite: the cluster \"a\" was left behind");
        assertThat(status).isNotZero();
    }

    /** Such as by Ctrl-C. */
    @Test
    void aStartThatIsEndedByASignalLeavesNothing() throws IOException, InterruptedException {
        String name = "ended-" + ProcessHandle.current().pid();
        Path output = directory.resolve("output");
        Process up = up(name, "5MB", output);
        try {
            Waits.until(
                    "the manager starts",
                    () -> !up.isAlive() || up.children().findAny().isPresent());
            up.destroy();
            assertThat(up.waitFor(Waits.seconds(60).toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } finally {
            up.descendants().forEach(ProcessHandle::destroyForcibly);
            up.destroyForcibly();
        }
        assertThat(output).content().startsWith("Starting the manager");
        assertThat(directory.resolve("clusters")).isEmptyDirectory();
    }

    @Test
    void theManagerOfTheOnlyClusterIsTheDefault() {
        assertThat(clusters.onlyUrl()).isEmpty();
        clusters.reserve("a");
        assertThat(clusters.onlyUrl()).isEmpty();
        clusters.write("a", Map.of(LocalClusters.URL, "http://127.0.0.1:1"));
        assertThat(clusters.onlyUrl()).contains("http://127.0.0.1:1");
        clusters.reserve("b");
        clusters.write("b", Map.of(LocalClusters.URL, "http://127.0.0.1:2"));
        assertThat(clusters.onlyUrl()).isEmpty();
    }
}
