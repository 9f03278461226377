package dev.lite.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clusters that outlive their launcher. */
class DetachedClusterTest {
    @TempDir
    static Path directory;

    private static Path jar;

    @BeforeAll
    static void makeJar() throws IOException {
        jar = FakeJar.in(directory);
    }

    @Test
    void aDetachedClusterRunsUntilItsScriptStopsIt() throws IOException, InterruptedException {
        LocalCluster cluster = fakes().tied(false).build();
        cluster.startManager();
        cluster.startNodes();
        Path script = cluster.detach();
        cluster.close();
        assertThat(cluster.processes()).hasSize(4).allMatch(LocalProcess::isAlive);
        assertThat(cluster.workDirectory()).isDirectory();

        Process stop = new ProcessBuilder("sh", script.toString()).inheritIO().start();
        assertThat(stop.waitFor(Waits.seconds(30).toMillis(), TimeUnit.MILLISECONDS))
                .isTrue();
        assertThat(stop.exitValue()).isZero();
        assertThat(cluster.processes()).noneMatch(LocalProcess::isAlive);
        assertThat(cluster.workDirectory()).doesNotExist();
        assertThat(cluster.arenaDirectory()).doesNotExist();
    }

    @Test
    void stoppingADetachedClusterEndsAProcessOfItThatWasStartedByHandAndKeepsForeignFiles()
            throws IOException, InterruptedException {
        Path work = Files.createDirectories(directory.resolve("it's mine"));
        Path foreign = Files.writeString(work.resolve("foreign"), "kept");
        LocalCluster cluster =
                fakes().name("by-hand").directory(work).tied(false).nodes(1).build();
        cluster.startManager();
        cluster.startNodes();
        Path script = cluster.detach();
        Process byHand = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-jar",
                        jar.toString(),
                        "--lite.cluster.name=by-hand",
                        "--lite.node.name=node-7")
                .start();
        assertThat(run(script)).isZero();
        assertThat(byHand.waitFor(Waits.seconds(20).toMillis(), TimeUnit.MILLISECONDS))
                .isTrue();
        assertThat(cluster.processes()).noneMatch(LocalProcess::isAlive);
        assertThat(work.toFile().list()).containsExactly("foreign");
        assertThat(foreign).hasContent("kept");
        assertThat(cluster.arenaDirectory()).doesNotExist();
    }

    @Test
    void aProcessOfADetachedClusterIsStoppedAndStartedAgainAsBefore() throws IOException, InterruptedException {
        LocalCluster cluster =
                fakes().name("again").tied(false).fixedPorts(true).build();
        cluster.up(line -> {});
        Path script = cluster.detach();
        try {
            DetachedCluster detached = new DetachedCluster("again", cluster.workDirectory());
            assertThat(detached.names()).containsExactly("manager", "node-1", "node-2", "node-3");
            assertThat(detached.addresses("node-2").getProperty("socket"))
                    .isEqualTo(cluster.socket(2).toString());
            assertThatThrownBy(() -> detached.start("node-2")).hasMessageContaining("node-2 is already running");
            assertThat(detached.stop("node-2")).isTrue();
            assertThat(detached.stop("node-2")).isFalse();
            assertThat(detached.addresses("node-2")).isEmpty();
            assertThat(cluster.node(1).isAlive()).isTrue();
            LocalProcess started = detached.start("node-2");
            assertThat(started.property("socket")).contains(cluster.socket(2).toString());
            assertThat(detached.stop("manager")).isTrue();
            assertThat(detached.start("manager").property("zookeeper")).contains(cluster.zookeeper());
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> detached.stop("node-4"))
                    .withMessageContaining("node-4");
            assertThat(detached.isRunning()).isTrue();
            assertThat(run(script)).isZero();
            assertThat(started.awaitExit(Waits.seconds(10))).isPresent();
            assertThat(detached.isRunning()).isFalse();
        } finally {
            run(script);
        }
    }

    @Test
    void aProcessWhosePortIsTakenWhileItIsStoppedStartsWithAnother() throws IOException, InterruptedException {
        LocalCluster cluster = fakes().name("lost-port")
                .tied(false)
                .fixedPorts(true)
                .nodes(2)
                .nodeProperty("fake.node-1", "listens")
                .build();
        Path script = cluster.workDirectory().resolve("stop.sh");
        try {
            cluster.up(line -> {});
            cluster.detach();
            DetachedCluster detached = new DetachedCluster("lost-port", cluster.workDirectory());
            assertThat(detached.stop("node-1")).isTrue();
            assertThat(detached.stop("node-2")).isTrue();
            int taken = port(detached, "node-1", "server.port");
            int ofNode2 = port(detached, "node-2", "server.port");
            try (ServerSocket other = new ServerSocket(taken, 50, InetAddress.getLoopbackAddress())) {
                assertThat(detached.start("node-1").isAlive()).isTrue();
                assertThat(other.isClosed()).isFalse();
            }
            assertThat(port(detached, "node-1", "server.port"))
                    .isGreaterThan(taken)
                    .isNotEqualTo(ofNode2);
            assertThat(detached.start("node-2").isAlive()).isTrue();
            assertThat(port(detached, "node-2", "server.port")).isEqualTo(ofNode2);
        } finally {
            assertThat(run(script)).isZero();
        }
    }

    /** The nodes know ZooKeeper's address, so it changes only while none of them runs. */
    @Test
    void aManagerWhosePortsAreTakenWhileItIsStoppedStartsWithOthers() throws IOException, InterruptedException {
        LocalCluster cluster = fakes().name("lost-zookeeper")
                .tied(false)
                .fixedPorts(true)
                .nodes(1)
                .property("fake.manager", "listens")
                .build();
        Path script = cluster.workDirectory().resolve("stop.sh");
        try {
            cluster.up(line -> {});
            cluster.detach();
            DetachedCluster detached = new DetachedCluster("lost-zookeeper", cluster.workDirectory());
            int web = port(detached, "manager", "server.port");
            int zookeeper = port(detached, "manager", "lite.manager.zookeeper.port");
            assertThat(detached.option("node-1", "lite.cluster.zookeeper")).contains("127.0.0.1:" + zookeeper);
            assertThat(detached.stop("manager")).isTrue();
            try (ServerSocket other = new ServerSocket(web, 50, InetAddress.getLoopbackAddress());
                    ServerSocket another = new ServerSocket(zookeeper, 50, InetAddress.getLoopbackAddress())) {
                assertThatThrownBy(() -> detached.start("manager")).isInstanceOf(ProcessFailedException.class);
                assertThat(port(detached, "manager", "lite.manager.zookeeper.port"))
                        .isEqualTo(zookeeper);
                assertThat(detached.stop("node-1")).isTrue();
                LocalProcess started = detached.start("manager");
                int now = port(detached, "manager", "lite.manager.zookeeper.port");
                assertThat(now).isGreaterThan(zookeeper);
                assertThat(started.property("zookeeper")).contains("127.0.0.1:" + now);
                assertThat(detached.option("node-1", "lite.cluster.zookeeper")).contains("127.0.0.1:" + now);
                assertThat(port(detached, "manager", "server.port")).isGreaterThan(web);
                assertThat(other.isClosed() || another.isClosed()).isFalse();
            }
        } finally {
            assertThat(run(script)).isZero();
        }
    }

    private static int port(DetachedCluster cluster, String process, String option) {
        return Integer.parseInt(cluster.option(process, option).orElseThrow());
    }

    @Test
    void theProcessesOfAClusterThatOutlivesItsLauncherWriteBoundedLogsThemselves()
            throws IOException, InterruptedException {
        LocalCluster cluster = fakes().name("logs").tied(false).nodes(1).build();
        Path script = cluster.workDirectory().resolve("stop.sh");
        try {
            cluster.up(line -> {});
            cluster.detach();
            DetachedCluster detached = new DetachedCluster("logs", cluster.workDirectory());
            for (String process : detached.names()) {
                assertThat(detached.option(process, "logging.file.name"))
                        .contains(detached.log(process).toString());
                assertThat(detached.option(process, "logging.logback.rollingpolicy.max-file-size"))
                        .contains("10MB");
                assertThat(detached.option(process, "logging.logback.rollingpolicy.total-size-cap"))
                        .contains("20MB");
                assertThat(detached.option(process, "logging.console.enabled")).contains("false");
                assertThat(detached.output(process)).content().contains(process + " starts");
            }
            assertThat(detached.stop("node-1")).isTrue();
            LocalProcess again = detached.start("node-1");
            assertThat(again.log()).isEqualTo(detached.log("node-1"));
            assertThat(Files.readAllLines(detached.output("node-1")))
                    .filteredOn(line -> line.startsWith("node-1 starts"))
                    .hasSize(2);
            assertThat(again.lastLines()).contains("node-1 starts");
            Files.writeString(detached.log("node-1"), "a line of its log\n");
            assertThat(again.lastLines())
                    .contains("a line of its log")
                    .contains("of " + detached.output("node-1"))
                    .contains("node-1 starts");
        } finally {
            assertThat(run(script)).isZero();
        }
    }

    @Test
    void theFailureOfAProcessThatDidNotLogYetIsReportedWithItsOutput() {
        try (LocalCluster cluster =
                fakes().tied(false).nodeProperty("fake.node-1", "dies").build()) {
            cluster.startManager();
            assertThatThrownBy(() -> cluster.startNode(1))
                    .hasMessageContaining("node-1.out")
                    .hasMessageContaining("the arena is too big: 1 TiB");
        }
    }

    @Test
    void aClusterThatOutlivesItsLauncherIsRefusedADirectoryThatLogbackWouldMisread(@TempDir Path parent) {
        Path misread = parent.resolve("100%d");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fakes().tied(false).directory(misread).build())
                .withMessageContaining(misread.toString())
                .withMessageContaining("choose another");
        assertThat(misread).doesNotExist();
        try (LocalCluster tied = fakes().directory(misread).build()) {
            assertThat(tied.workDirectory()).isEqualTo(misread);
        }
    }

    @Test
    void aSecondManagerThatWasStartedByHandIsNotTakenForTheFirst() throws IOException, InterruptedException {
        LocalCluster cluster = fakes().name("two-managers").tied(false).nodes(1).build();
        cluster.up(line -> {});
        Path script = cluster.detach();
        Process second = null;
        try {
            DetachedCluster detached = new DetachedCluster("two-managers", cluster.workDirectory());
            assertThat(detached.stop("manager")).isTrue();
            List<String> command =
                    new ArrayList<>(Files.readAllLines(cluster.workDirectory().resolve("commands/manager")));
            command.removeIf(argument -> argument.startsWith("--lite.ready-file="));
            command.add("--lite.manager.name=manager-2");
            second = new ProcessBuilder(command).start();
            Waits.until("it runs", () -> detached.running().size() == 2);

            assertThat(detached.stop("manager")).isFalse();
            LocalProcess first = detached.start("manager");
            assertThat(detached.stop("manager")).isTrue();

            assertThat(first.awaitExit(Waits.seconds(10))).isPresent();
            assertThat(second.isAlive()).isTrue();
        } finally {
            assertThat(run(script)).isZero();
        }
        assertThat(second.waitFor(Waits.seconds(10).toNanos(), TimeUnit.NANOSECONDS))
                .isTrue();
    }

    @Test
    void aProcessWhoseParentDoesNotCollectItsStatusIsStopped() throws IOException, InterruptedException {
        LocalCluster cluster = fakes().name("unreaped").tied(false).nodes(1).build();
        cluster.up(line -> {});
        Path script = cluster.detach();
        Process parent = null;
        try {
            DetachedCluster detached = new DetachedCluster("unreaped", cluster.workDirectory());
            assertThat(detached.stop("node-1")).isTrue();
            // Like the first process of a container that is no init process.
            parent = new ProcessBuilder(Stream.concat(
                                    Stream.of("sh", "-c", "\"$@\" & exec sleep 300", "sh"),
                                    Files.readAllLines(cluster.workDirectory().resolve("commands/node-1")).stream())
                            .toList())
                    .start();
            Waits.until(
                    "node-1 is ready again", () -> detached.addresses("node-1").getProperty("socket") != null);
            assertThat(detached.stop("node-1")).isTrue();
            assertThat(detached.stop("node-1")).isFalse();
        } finally {
            if (parent != null) {
                parent.destroyForcibly();
            }
            run(script);
        }
    }

    private static int run(Path script) throws IOException, InterruptedException {
        if (!Files.exists(script)) {
            return 0;
        }
        Process stop = new ProcessBuilder("sh", script.toString()).inheritIO().start();
        assertThat(stop.waitFor(Waits.seconds(60).toMillis(), TimeUnit.MILLISECONDS))
                .isTrue();
        return stop.exitValue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"kill -9 $PPID", "status=1"})
    void aStopThatEndsOrFailsWhileItRemovesTheArenasCanBeRepeated(String atArenas, @TempDir Path commands)
            throws IOException, InterruptedException {
        LocalCluster cluster = fakes().name("half-removed")
                .directory(directory.resolve("half-removed"))
                .tied(false)
                .nodes(1)
                .build();
        cluster.up(line -> {});
        Path script = cluster.detach();
        try {
            Path rm = Files.writeString(commands.resolve("rm"), """
                    #!/bin/sh
                    status=0
                    for path in "$@"; do
                      case "$path" in
                        -*) ;;
                        '%s') %s ;;
                        *) /bin/rm -rf "$path" ;;
                      esac
                    done
                    exit $status
                    """.formatted(cluster.arenaDirectory(), atArenas));
            assertThat(rm.toFile().setExecutable(true)).isTrue();
            ProcessBuilder interrupted = new ProcessBuilder("sh", script.toString()).inheritIO();
            interrupted.environment().merge("PATH", commands.toString(), (path, first) -> first + ":" + path);
            assertThat(interrupted.start().waitFor()).isNotZero();
            assertThat(cluster.processes()).noneMatch(LocalProcess::isAlive);
            assertThat(cluster.arenaDirectory()).exists();
            assertThat(script).as("what removes the rest").exists();
        } finally {
            assertThat(run(script)).isZero();
        }
        assertThat(cluster.arenaDirectory()).doesNotExist();
        assertThat(cluster.workDirectory()).doesNotExist();
    }

    @Test
    void aTiedClusterCannotBeDetached() {
        try (LocalCluster cluster = fakes().build()) {
            assertThatIllegalStateException().isThrownBy(cluster::detach).withMessageContaining("tied");
        }
    }

    /** With a name of its own, because the script that stops a cluster ends every process with its name. */
    private static LocalClusterBuilder fakes() {
        return LocalCluster.builder()
                .name("detached")
                .jars(jar, jar)
                .sharedMemory(directory.resolve("shm"))
                .startDeadline(Waits.seconds(20));
    }
}
