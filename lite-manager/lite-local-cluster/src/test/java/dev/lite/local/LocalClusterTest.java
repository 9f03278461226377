package dev.lite.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LocalClusterTest {
    @TempDir
    static Path directory;

    private static Path jar;

    @BeforeAll
    static void makeJar() throws IOException {
        jar = FakeJar.in(directory);
    }

    @Test
    void managerAndNodesBecomeReadyAndReportTheirAddresses() {
        try (LocalCluster cluster = fakes().nodes(2).build()) {
            cluster.startManager();
            assertThat(cluster.startNodes()).hasSize(2).allMatch(LocalProcess::isAlive);
            assertThat(cluster.zookeeper()).isEqualTo("127.0.0.1:21810");
            assertThat(cluster.socket(2)).isEqualTo(cluster.workDirectory().resolve("run/node-2/node.sock"));
            assertThat(cluster.node(1).health()).contains("http://127.0.0.1:1/actuator/health");
            assertThat(cluster.processes())
                    .extracting(LocalProcess::name)
                    .containsExactly("manager", "node-1", "node-2");
            assertThat(cluster.startNodes()).isEmpty();
        }
    }

    @Test
    void closeLeavesNoProcessAndNoDirectory() {
        LocalCluster cluster = fakes().build();
        cluster.startManager();
        cluster.startNodes();
        List<LocalProcess> processes = cluster.processes();
        assertThat(cluster.arenaDirectory()).isNotEmptyDirectory();
        cluster.close();
        cluster.close();
        assertThat(processes).noneMatch(LocalProcess::isAlive);
        assertThat(cluster.workDirectory()).doesNotExist();
        assertThat(cluster.arenaDirectory()).doesNotExist();
        assertThatIllegalStateException().isThrownBy(cluster::startManager).withMessageContaining("is closed");
    }

    @Test
    void closeByAnInterruptedThreadLeavesNoProcessAndNoDirectory() {
        LocalCluster cluster = fakes().build();
        cluster.startManager();
        cluster.startNodes();
        List<LocalProcess> processes = cluster.processes();
        try {
            Thread.currentThread().interrupt();
            cluster.close();
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(processes).noneMatch(LocalProcess::isAlive);
        assertThat(cluster.workDirectory()).doesNotExist();
        assertThat(cluster.arenaDirectory()).doesNotExist();
    }

    @Test
    void aProcessThatDiesBeforeItIsReadyIsReportedWithItsOutput() {
        try (LocalCluster cluster = fakes().nodeProperty("fake.node-1", "dies").build()) {
            cluster.startManager();
            assertThatThrownBy(cluster::startNodes)
                    .isInstanceOf(ProcessFailedException.class)
                    .hasMessageContaining("node-1 ended with status 3 before it was ready")
                    .hasMessageContaining("the arena is too big: 1 TiB");
        }
    }

    @Test
    void aFullDiskThatLosesTheReasonOfAFailureIsNamed(@TempDir Path logs) throws IOException {
        Path probe = logs.resolve("node-1.log.probe");
        try (LocalCluster cluster =
                fakes().nodeProperty("fake.node-1", "dies").logDirectory(logs).build()) {
            cluster.startManager();
            Files.createSymbolicLink(probe, Path.of("/dev/full"));
            assertThatThrownBy(() -> cluster.startNode(1))
                    .isInstanceOf(ProcessFailedException.class)
                    .hasMessageContaining(
                            "node-1 ended with status 3 before it was ready; nothing can be written into %s, so its last lines may be missing: No space left on device",
                            logs);
            assertThatThrownBy(() -> cluster.startNode(1)).hasMessageContaining("before it was ready; the last lines");
        }
        assertThat(probe).doesNotExist();
    }

    @Test
    void theReportOfACrashedJvmIsKeptInTheDirectoryOfTheClusterAndNamed() {
        Path work = directory.resolve("crash%p");
        LocalCluster cluster = fakes().name("crash")
                .directory(work)
                .nodes(1)
                .nodeProperty("fake.node-1", "crashes")
                .build();
        cluster.startManager();
        assertThatThrownBy(() -> cluster.startNode(1))
                .isInstanceOf(ProcessFailedException.class)
                .hasMessageContaining("node-1 was killed by signal 6 before it was ready")
                .hasMessageContaining(
                        "; the report of the crash of its JVM is %s/hs_err_node-1_pid%d.log",
                        work, cluster.node(1).pid());
        cluster.close();
        assertThat(work.toFile().list())
                .containsExactly(
                        "hs_err_node-1_pid%d.log".formatted(cluster.node(1).pid()));
    }

    @Test
    void aProcessThatPrintsNothingAndIsNotReadyIsKilledAndReportedAsATimeout() {
        try (LocalCluster cluster = fakes().nodeProperty("fake.node-1", "never-ready")
                .startDeadline(Waits.seconds(2))
                .build()) {
            cluster.startManager();
            assertThatThrownBy(() -> cluster.startNode(1))
                    .isInstanceOf(ProcessFailedException.class)
                    .hasMessageContaining("timeout: node-1 printed nothing for")
                    .hasMessageContaining("it had not failed by itself");
            assertThat(cluster.node(1).isAlive()).isFalse();
        }
    }

    @Test
    void aSlowStartThatMakesProgressMayTakeLongerThanTheDeadline() {
        Duration deadline = Waits.seconds(2);
        try (LocalCluster cluster = fakes().nodeProperty("fake.node-1", "slow")
                .nodeProperty(
                        "fake.milliseconds",
                        Long.toString(deadline.multipliedBy(2).toMillis()))
                .startDeadline(deadline)
                .build()) {
            cluster.startManager();
            assertThat(cluster.startNode(1).isAlive()).isTrue();
        }
    }

    @Test
    void aStartThatOnlyPrintsIsKilledAtTenTimesTheDeadline() {
        Duration deadline = Waits.seconds(2); // the manager's own start must print something within it
        try (LocalCluster cluster = fakes().nodeProperty("fake.node-1", "slow")
                .nodeProperty(
                        "fake.milliseconds",
                        Long.toString(deadline.multipliedBy(50).toMillis()))
                .startDeadline(deadline)
                .build()) {
            assertThatThrownBy(() -> {
                        cluster.startManager();
                        cluster.startNode(1);
                    })
                    .isInstanceOf(ProcessFailedException.class)
                    .hasMessageContaining("timeout: node-1 was not ready within %d s"
                            .formatted(Math.ceilDiv(deadline.toMillis() * 10, 1000)));
        }
    }

    @Test
    void aProcessThatIsKilledWhileItStartsIsNotReportedAsATimeout() {
        try (LocalCluster cluster =
                fakes().nodeProperty("fake.node-1", "kills-itself").build()) {
            cluster.startManager();
            assertThatThrownBy(cluster::startNodes)
                    .isInstanceOf(ProcessFailedException.class)
                    .hasMessageContaining("node-1 was killed by signal 9 before it was ready");
        }
    }

    @Test
    void upReportsEachNodeThatIsReady() {
        List<String> lines = new ArrayList<>();
        try (LocalCluster cluster = fakes().nodes(5).build()) {
            cluster.up(lines::add);
            assertThat(lines).hasSize(8).element(0).isEqualTo("Starting the manager");
            assertThat(lines).element(1).asString().startsWith("Starting the nodes, ");
            assertThat(lines.subList(2, 8))
                    .extracting(line -> line.substring(2, 9).strip())
                    .containsExactlyInAnyOrder("manager", "node-1", "node-2", "node-3", "node-4", "node-5");
        }
    }

    @Test
    void nodesStartAsSoonAsZooKeeperAcceptsConnectionsAlthoughTheManagerIsNotReady() {
        // This manager becomes ready only after node-1.
        try (LocalCluster cluster = fakes().fixedPorts(true)
                .property("fake.manager", "after-node-1")
                .build()) {
            cluster.up(line -> {});
            assertThat(cluster.processes()).hasSize(4).allMatch(LocalProcess::isAlive);
        }
    }

    @Test
    void aManagerThatDiesWhileNodesStartIsReported() {
        try (LocalCluster cluster = fakes().fixedPorts(true)
                .property("fake.manager", "dies-with-zookeeper")
                .build()) {
            assertThatThrownBy(() -> cluster.up(line -> {}))
                    .isInstanceOf(ProcessFailedException.class)
                    .hasMessageContaining("manager ended with status 3 before it was ready");
        }
    }

    @Test
    void aKilledNodeCanBeRestartedWithItsName() {
        try (LocalCluster cluster = fakes().build()) {
            cluster.startManager();
            long before = cluster.startNode(1).pid();
            assertThatIllegalStateException()
                    .isThrownBy(() -> cluster.startNode(1))
                    .withMessageContaining("node-1 is already running");
            cluster.kill(1);
            assertThat(cluster.node(1).awaitExit(Duration.ZERO)).isEqualTo(OptionalInt.of(128 + 9));
            assertThat(cluster.arenaDirectory().resolve("node-1")).exists();
            assertThat(cluster.startNode(1).pid()).isNotEqualTo(before);
        }
    }

    @Test
    void aNodeThatIgnoresTheSignalIsKilledAtTheStopDeadline() {
        try (LocalCluster cluster = fakes().nodeProperty("fake.node-1", "stubborn")
                .stopDeadline(Waits.seconds(2)) // node-2 must end by itself within it
                .build()) {
            cluster.startManager();
            cluster.startNodes();
            assertThat(cluster.stop(1)).isFalse();
            assertThat(cluster.node(1).isAlive()).isFalse();
            assertThat(cluster.stop(2)).isTrue();
        }
    }

    @Test
    void aKilledManagerCanBeRestartedWithItsPort() {
        try (LocalCluster cluster = fakes().build()) {
            cluster.startManager();
            cluster.killManager();
            cluster.startManager();
            assertThat(cluster.zookeeper()).isEqualTo("127.0.0.1:21810");
        }
    }

    @Test
    void theOutputOfAnApplicationIsPassedOn() {
        List<String> lines = new CopyOnWriteArrayList<>();
        try (LocalCluster cluster = fakes().build()) {
            LocalProcess application = cluster.startApplication("counter", jar, List.of("--ends=7"), lines::add);
            assertThat(application.awaitExit(Waits.seconds(20))).isEqualTo(OptionalInt.of(7));
            assertThat(lines).contains("ends with ä");
            assertThat(application.lastLines()).contains("ends with");
        }
    }

    @Test
    void anApplicationGetsTheJvmOptionsOfApplications() {
        List<String> lines = new CopyOnWriteArrayList<>();
        try (LocalCluster cluster =
                fakes().applicationJavaOption("-showversion").build()) {
            LocalProcess application = cluster.startApplication("counter", jar, List.of("--ends=0"), lines::add);
            assertThat(application.awaitExit(Waits.seconds(20))).isEqualTo(OptionalInt.of(0));
            assertThat(lines).anyMatch(line -> line.contains(" version \""));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"INT", "TERM"})
    void aLauncherThatIsEndedByASignalLeavesNothing(String signal, @TempDir Path sharedMemory) throws Exception {
        assumeThat(signal.equals("INT") && interruptIsIgnored())
                .as("this process ignores SIGINT, and so do its children")
                .isFalse();
        Path arenas = sharedMemory.resolve("lite");
        Process launcher = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Launcher.class.getName(),
                        jar.toString(),
                        arenas.toString())
                .redirectErrorStream(true)
                .start();
        try (BufferedReader output = launcher.inputReader()) {
            List<String> lines = new ArrayList<>();
            for (String line = output.readLine(); line != null && !line.equals("ready"); line = output.readLine()) {
                lines.add(line);
            }
            Path work = Path.of(lines.getFirst().substring("work ".length()));
            List<ProcessHandle> children = lines.stream()
                    .skip(1)
                    .map(line -> ProcessHandle.of(Long.parseLong(line.substring("pid ".length())))
                            .orElseThrow())
                    .toList();
            assertThat(children).hasSize(3);
            assertThat(new ProcessBuilder("kill", "-" + signal, Long.toString(launcher.pid()))
                            .start()
                            .waitFor())
                    .isZero();
            assertThat(launcher.waitFor(Waits.seconds(30).toMillis(), TimeUnit.MILLISECONDS))
                    .isTrue();
            assertThat(children).noneMatch(ProcessHandle::isAlive);
            assertThat(work).doesNotExist();
            assertThat(arenas).doesNotExist();
        } finally {
            launcher.destroyForcibly();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"zookeeper", "stop.sh"})
    void aDirectoryWithSomethingThatTheClusterWouldRemoveIsRefused(String name) throws IOException {
        Path work = Files.createDirectories(directory.resolve("with-" + name));
        Path foreign = Files.writeString(work.resolve(name), "kept");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fakes().directory(work).tied(false).build().close())
                .withMessageStartingWith("%s exists".formatted(foreign));
        assertThat(foreign).hasContent("kept");
        assertThat(work.toFile().list()).containsExactly(name);
    }

    @Test
    void aClusterWhoseStopScriptCannotBeWrittenLeavesNothing() throws IOException {
        Path work = Files.createDirectories(directory.resolve("no-script"));
        Path shared = directory.resolve("no-script-shm");
        Files.createSymbolicLink(work.resolve("stop.sh"), Path.of("missing/stop.sh"));
        assertThatThrownBy(() -> fakes().directory(work)
                        .sharedMemory(shared)
                        .tied(false)
                        .build()
                        .close())
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("cannot write");
        assertThat(work).doesNotExist();
        assertThat(shared).doesNotExist();
    }

    @Test
    void ofClustersThatBeginInOneDirectoryAtTheSameTimeOneGetsItAndKeepsItsFiles() throws IOException {
        int clusters = 4;
        CyclicBarrier begin = new CyclicBarrier(clusters);
        for (int round = 0; round < 30; round++) {
            Path work = Files.createDirectory(directory.resolve("contended-" + round));
            List<Future<LocalCluster>> builds = new ArrayList<>();
            try (ExecutorService threads = Executors.newFixedThreadPool(clusters)) {
                for (int cluster = 0; cluster < clusters; cluster++) {
                    LocalClusterBuilder builder = fakes().name("contended-%d-%d".formatted(round, cluster))
                            .directory(work);
                    builds.add(threads.submit(() -> {
                        begin.await();
                        return builder.build();
                    }));
                }
            }
            List<LocalCluster> built = new ArrayList<>();
            List<Throwable> refusals = new ArrayList<>();
            for (Future<LocalCluster> build : builds) {
                if (build.state() == Future.State.SUCCESS) {
                    built.add(build.resultNow());
                } else {
                    refusals.add(build.exceptionNow());
                }
            }
            assertThat(built).as("clusters that got the directory").hasSize(1);
            assertThat(work.toFile().list()).contains("secret", "logs", "ready", "run", "commands");
            assertThat(refusals)
                    .allSatisfy(refusal -> assertThat(refusal)
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("another cluster uses this directory"));
            built.getFirst().close();
            assertThat(work).doesNotExist();
        }
    }

    @Test
    void nobodyElseMayEnterTheDirectoriesOfAClusterInADirectoryThatOthersMayRead() throws IOException {
        Path work = Files.createDirectory(directory.resolve("public"));
        Path shared = directory.resolve("new-shm");
        try (LocalCluster cluster = fakes().directory(work).sharedMemory(shared).build()) {
            assertThat(cluster.workDirectory()).isEqualTo(work);
            for (Path made : List.of(
                    work.resolve("logs"),
                    work.resolve("ready"),
                    work.resolve("run"),
                    work.resolve("commands"),
                    shared)) {
                assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(made)))
                        .as("%s", made)
                        .isEqualTo("rwx------");
            }
        }
    }

    @Test
    void theCommandsOfAClusterWhoseFilesHadRelativePathsWorkInEveryDirectory() throws IOException {
        Path here = Path.of("").toAbsolutePath();
        Path relative = here.relativize(jar.toAbsolutePath());
        Path shared = directory.resolve("relative-shm").toAbsolutePath();
        try (LocalCluster cluster = fakes().jars(relative, relative)
                .sharedMemory(here.relativize(shared))
                .nodes(1)
                .build()) {
            cluster.startManager();
            cluster.startNodes();
            for (String process : List.of("manager", "node-1")) {
                List<String> command = Files.readAllLines(
                        cluster.workDirectory().resolve("commands").resolve(process));
                assertThat(Path.of(command.get(command.indexOf("-jar") + 1))).isAbsolute();
            }
            assertThat(cluster.arenaDirectory()).isAbsolute();
        }
    }

    @Test
    void aDirectoryThatAClusterUsesIsRefusedToAnother() {
        Path work = directory.resolve("used");
        try (LocalCluster cluster = fakes().name("first").directory(work).build()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> fakes().name("second").directory(work).build())
                    .withMessageContaining("another cluster uses this directory");
            cluster.startManager();
        }
        assertThat(work).doesNotExist();
    }

    @Test
    void everyUserHasADirectoryInSharedMemory() {
        assertThat(LocalClusterBuilder.sharedMemoryOf(0)).isEqualTo(Path.of("/dev/shm/lite"));
        assertThat(LocalClusterBuilder.sharedMemoryOf(1000)).isEqualTo(Path.of("/dev/shm/lite-1000"));
    }

    @Test
    void aPortThatIsTakenIsReplacedByTheNextFreeOne() throws IOException {
        Ports ports = new Ports();
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            int free = ports.free(taken.getLocalPort());
            assertThat(free).isGreaterThan(taken.getLocalPort());
            assertThat(ports.free(free)).isGreaterThan(free);
        }
    }

    /** For example another cluster that is started at the same time. */
    @Test
    void aNodeWhosePortIsTakenBeforeItListensThereStartsWithAnother() throws IOException {
        try (LocalCluster cluster = fakes().nodes(1)
                        .fixedPorts(true)
                        .nodeProperty("fake.node-1", "loses-its-port-once")
                        .build();
                ExecutorService starts = Executors.newSingleThreadExecutor()) {
            cluster.startManager();
            Future<LocalProcess> starting = starts.submit(() -> cluster.startNode(1));
            Path command = cluster.workDirectory().resolve("commands").resolve("node-1");
            Waits.until("it has a port", () -> portIn(command, "server.port") != 0);
            int taken = portIn(command, "server.port");
            try (ServerSocket other = new ServerSocket(taken, 50, InetAddress.getLoopbackAddress())) {
                assertThat(starting)
                        .succeedsWithin(Waits.seconds(60))
                        .satisfies(node -> assertThat(node.isAlive()).isTrue());
                assertThat(other.isClosed()).isFalse();
            }
            assertThat(cluster.workDirectory().resolve("ready").resolve("port-of-node-1"))
                    .hasContent(Integer.toString(taken));
            assertThat(portIn(command, "server.port")).isGreaterThan(taken);
        }
    }

    /** Nodes that take the other process's server for ZooKeeper start once more, too. */
    @ParameterizedTest
    @CsvSource({
        "loses-its-port-once, server.port, true",
        "loses-its-port-once, server.port, false",
        "loses-zookeepers-port-once, lite.manager.zookeeper.port, true",
        "loses-zookeepers-port-once, lite.manager.zookeeper.port, false"
    })
    void aManagerWhosePortIsTakenBeforeItListensThereStartsWithAnother(String mode, String option, boolean withNodes)
            throws IOException {
        try (LocalCluster cluster = fakes().nodes(2)
                        .fixedPorts(true)
                        .property("fake.manager", mode)
                        .build();
                ExecutorService starts = Executors.newSingleThreadExecutor()) {
            Future<?> starting = starts.submit(() -> {
                if (withNodes) {
                    cluster.up(line -> {});
                } else {
                    cluster.startManager();
                }
            });
            Path commands = cluster.workDirectory().resolve("commands");
            Path command = commands.resolve("manager");
            Waits.until("it has a port", () -> portIn(command, option) != 0);
            int taken = portIn(command, option);
            try (ServerSocket other = new ServerSocket(taken, 50, InetAddress.getLoopbackAddress())) {
                assertThat(starting).succeedsWithin(Waits.seconds(60));
                assertThat(other.isClosed()).isFalse();
            }
            assertThat(cluster.workDirectory().resolve("ready").resolve("port-of-manager"))
                    .hasContent(Integer.toString(taken));
            assertThat(portIn(command, option)).isGreaterThan(taken);
            assertThat(cluster.processes()).hasSize(withNodes ? 3 : 1).allMatch(LocalProcess::isAlive);
            if (withNodes) {
                for (String node : List.of("node-1", "node-2")) {
                    assertThat(Files.readAllLines(commands.resolve(node)))
                            .contains("--lite.cluster.zookeeper=" + cluster.zookeeper());
                }
            }
        }
    }

    /** The port that an option of a recorded command gives its process; 0 if it is not recorded yet. */
    private static int portIn(Path command, String name) {
        String option = "--%s=".formatted(name);
        try {
            return !Files.exists(command)
                    ? 0
                    : Files.readAllLines(command).stream()
                            .filter(argument -> argument.startsWith(option))
                            .mapToInt(argument -> Integer.parseInt(argument.substring(option.length())))
                            .findFirst()
                            .orElse(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aNameInUseIsRefusedAndKeepsItsArenas() throws IOException {
        Path taken = Files.createDirectories(directory.resolve("shm/taken"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fakes().name("taken").build())
                .withMessageContaining(taken.toString());
        assertThat(taken).isDirectory();
    }

    @Test
    void valuesOutOfRangeAreReported() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fakes().name("No Good").build())
                .withMessageContaining("No Good");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fakes().nodes(65).build())
                .withMessageContaining("nodes is 65")
                .withMessageContaining("1 to 64");
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        fakes().jars(jar, directory.resolve("missing.jar")).build())
                .withMessageContaining("missing.jar")
                .withMessageContaining("mvn package");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fakes().arenaBytes(0).build());
    }

    /** Whether this process ignores SIGINT, as in the background of a shell without job control; children inherit this. */
    private static boolean interruptIsIgnored() throws IOException {
        long interrupt = 1L << (2 - 1);
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("SigIgn:"))
                .map(line -> line.substring("SigIgn:".length()).strip())
                .anyMatch(mask -> (Long.parseUnsignedLong(mask, 16) & interrupt) != 0);
    }

    private static LocalClusterBuilder fakes() {
        return LocalCluster.builder()
                .jars(jar, jar)
                .sharedMemory(directory.resolve("shm"))
                .startDeadline(Waits.seconds(20));
    }
}
