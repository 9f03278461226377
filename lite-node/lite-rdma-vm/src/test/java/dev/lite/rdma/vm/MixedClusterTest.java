package dev.lite.rdma.vm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.lite.mr.MrMain;
import dev.lite.rdma.vm.Machine.Running;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Node processes that choose their fabrics themselves ({@code lite.fabric=auto}): a on one machine, b and c on the other
 * one, where c has no access to the RDMA device. So a and b use RDMA, b and c shared memory, and a and c TCP. LITE-Log
 * and LITE-MR run on them. The cases run in order, because {@link MixedProgram} takes its roles in order.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Isolated("its machines take both processors")
class MixedClusterTest {
    private static final Duration START = Duration.ofMinutes(6);
    private static final Duration SOON = Waits.seconds(45);
    private static final int PORT = 7410;
    private static final List<String> SMALL = List.of("-Xmx64m", "-XX:TieredStopAtLevel=1");
    private static final String NO_DEVICE = "this host has no RDMA device";

    private static Machines.@Nullable Pair machines;
    private static @Nullable Running a;
    private static @Nullable Running b;
    private static @Nullable Running c;
    private static @Nullable Running refused;

    /** {@link MixedProgram} at a. */
    private static @Nullable Running applications;

    /** {@link MixedProgram} at c: the readers. */
    private static @Nullable Running readers;

    private static final List<Running> workers = new ArrayList<>();

    @BeforeAll
    static void startTheCluster() {
        assumeFalse(Machines.here(), "-Drdma.here has no second machine");
        machines = Machines.two("mixed");
        Machine first = machines.a();
        Machine second = machines.b();
        Running zooKeeper = first.java(SMALL, ZooKeeperProgram.class, first.address());
        b = second.start(node("b", second));
        c = second.start(withoutDevice(node("c", second)));
        zooKeeper.awaitLine("zookeeper", START);
        a = first.start(node("a", first));
        awaitStart(a);
        // Start these while the two nodes of the second machine, which share a processor, are still starting.
        applications = first.java(
                SMALL,
                MixedProgram.class,
                socket(first, "a"),
                MixedProgram.WRITER,
                MixedProgram.LOG_WRITER,
                MixedProgram.WORDS,
                MixedProgram.ONE,
                MixedProgram.FIFTY);
        refused = first.start(withoutDevice(node("d", first, "--lite.fabric.require=rdma")));
        for (Running node : List.of(b, c)) {
            awaitStart(node);
        }
        readers = second.java(
                SMALL, MixedProgram.class, socket(second, "c"), MixedProgram.READER, MixedProgram.LOG_READER);
    }

    private static void awaitStart(Running node) {
        long endNs = System.nanoTime() + START.toNanos();
        while (!node.output().contains("Started LiteNodeApplication")) {
            assertThat(node.isRunning() && System.nanoTime() - endNs < 0)
                    .as("it runs and starts within %s; its output:%n%s", START, node.output())
                    .isTrue();
            LockSupport.parkNanos(Running.POLL_NS);
        }
    }

    @AfterAll
    static void close() {
        if (machines != null) {
            machines.close();
        }
    }

    private static String node(String name, Machine machine, String... more) {
        String zooKeeper = Objects.requireNonNull(machines).a().address() + ":" + NodeProgram.ZOOKEEPER_PORT;
        List<String> options = new ArrayList<>(List.of(
                "--server.port=" + port(name),
                "--lite.cluster.zookeeper=" + zooKeeper,
                "--lite.cluster.auth.open=true",
                "--lite.cluster.session-timeout=20s",
                "--lite.cluster.connection-timeout=60s",
                "--lite.fabric=auto",
                "--lite.node.name=" + name,
                "--lite.node.arena.size=16MB",
                "--lite.node.arena.directory=" + machine.memory() + "/lite",
                "--lite.node.run-directory=" + machine.memory() + "/" + name,
                "--lite.node.deadline=90s",
                "--lite.node.tcp.bind=" + machine.address(),
                "--lite.node.tcp.secret=" + NodeProgram.SECRET));
        options.addAll(List.of(more));
        return Jvm.node(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1"), options);
    }

    private static int port(String name) {
        return PORT + name.charAt(0) - 'a';
    }

    /** Hides the RDMA device from this program only. */
    private static String withoutDevice(String command) {
        return "exec unshare -m /bin/sh -c "
                + Jvm.quoted("mount -t tmpfs none /sys/class/infiniband && " + command)
                + "\n";
    }

    @Test
    @Order(1)
    void eachNodeLogsAtStartWhichFabricsItOffersAndWhyItLacksOthers() {
        assertThat(outputOf(a)).contains("fabrics shm, rdma, tcp\n");
        assertThat(outputOf(b)).contains("fabrics shm, rdma, tcp\n");
        assertThat(outputOf(c)).contains("fabrics shm, tcp; not rdma: " + NO_DEVICE);
    }

    private static String outputOf(@Nullable Running node) {
        return Objects.requireNonNull(node).output();
    }

    @Test
    @Order(2)
    void healthShowsTheFabricToEachNode() {
        Machine first = Objects.requireNonNull(machines).a();
        Machine second = Objects.requireNonNull(machines).b();
        assertThat(health(first, "a", "\"b\":\"rdma\"", "\"c\":\"tcp\"")).contains("\"offered\":\"shm, rdma, tcp\"");
        assertThat(health(second, "b", "\"a\":\"rdma\"", "\"c\":\"shm\"")).contains("\"offered\":\"shm, rdma, tcp\"");
        assertThat(health(second, "c", "\"a\":\"tcp\"", "\"b\":\"shm\""))
                .contains("\"offered\":\"shm, tcp; not rdma: " + NO_DEVICE);
    }

    /** Polls the health until it contains all texts. */
    private static String health(Machine machine, String node, String... texts) {
        long endNs = System.nanoTime() + SOON.toNanos();
        while (true) {
            String health =
                    machine.run("busybox wget -q -O - http://127.0.0.1:%d/actuator/health".formatted(port(node)), SOON);
            if (Stream.of(texts).allMatch(health::contains)) {
                System.out.println("mixed cluster: health of " + node + ": " + health);
                return health;
            }
            assertThat(System.nanoTime() - endNs)
                    .as("waited for %s in %s", List.of(texts), health)
                    .isNegative();
        }
    }

    @Test
    @Order(3)
    void anLmrOverAllThreeNodesIsReadByApplicationsOfBothMachines() {
        writeAndRead(MixedProgram.WRITER, MixedProgram.READER);
    }

    @Test
    @Order(4)
    void aLogOnANodeIsWrittenAndReadOverRdmaAndReadFromAThirdNode() {
        // For the next test: they start while the machine of the other one of these two has the work.
        workers.add(worker(Objects.requireNonNull(machines).a(), "a"));
        workers.add(worker(Objects.requireNonNull(machines).b(), "b"));
        writeAndRead(MixedProgram.LOG_WRITER, MixedProgram.LOG_READER);
        endsWell(readers, Objects.requireNonNull(machines).b());
    }

    @Test
    @Order(5)
    void workersOfBothMachinesCountTheWordsOfAnLmr() {
        workers.forEach(worker -> worker.awaitLine("ok", SOON));
        MixedProgram.begin(Objects.requireNonNull(machines).a(), MixedProgram.WORDS);
        awaitDone(applications, MixedProgram.WORDS);
        // The next test counts what the kernel has.
        for (Running worker : workers) {
            worker.kill();
            int unused = worker.await(SOON);
        }
    }

    private static Running worker(Machine machine, String node) {
        return machine.java(SMALL, MrMain.class, "worker", socket(machine, node), LogAndWords.GROUP, "1");
    }

    private static String socket(Machine machine, String node) {
        return machine.memory() + "/" + node + "/node.sock";
    }

    /** Both begin at the same time, one on each machine; the reader waits for the writer. */
    private static void writeAndRead(String writer, String reader) {
        MixedProgram.begin(Objects.requireNonNull(machines).b(), reader);
        MixedProgram.begin(Objects.requireNonNull(machines).a(), writer);
        awaitDone(applications, writer);
        awaitDone(readers, reader);
    }

    private static void awaitDone(@Nullable Running program, String role) {
        System.out.println("mixed cluster: " + Objects.requireNonNull(program).awaitLine(role + ": ", SOON));
    }

    private static void endsWell(@Nullable Running program, Machine machine) {
        Running last = Objects.requireNonNull(program);
        MixedProgram.end(machine);
        assertThat(last.await(SOON)).as(last.output()).isZero();
    }

    @Test
    @Order(6)
    void fiftyApplicationsUseTheQueuePairsOfOne() {
        Machine first = Objects.requireNonNull(machines).a();
        MixedProgram.begin(first, MixedProgram.ONE);
        awaitDone(applications, MixedProgram.ONE);
        String resources = resources(first);
        System.out.println("mixed cluster: with one application " + resources);
        assertThat(resources).contains(" qp ").doesNotContain(" qp 0 ");
        MixedProgram.begin(first, MixedProgram.FIFTY);
        awaitDone(applications, MixedProgram.FIFTY);
        assertThat(resources(first)).as("with fifty applications").isEqualTo(resources);
        endsWell(applications, first);
    }

    /** What the kernel has of its RDMA device, in numbers: queue pairs, completion queues, memory regions and so on. */
    private static String resources(Machine machine) {
        return machine.run("rdma resource show", SOON)
                .lines()
                .filter(line -> line.contains("rxe0"))
                .findFirst()
                .orElseThrow()
                .strip();
    }

    @Test
    @Order(7)
    void aNodeThatRequiresRdmaDoesNotStartWithoutADevice() {
        Running node = Objects.requireNonNull(refused);
        assertThat(node.await(START)).as(node.output()).isEqualTo(1);
        assertThat(node.output())
                .contains("APPLICATION FAILED TO START")
                .contains("the fabric rdma is required, and it cannot be used: " + NO_DEVICE)
                .doesNotContain("\tat ");
    }
}
