package dev.lite.rdma.vm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.rdma.vm.Machine.Running;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Two nodes on two machines, so with two kernels: they work together, and one of them fails in different ways. The cases
 * share the two machines, because starting JVMs there is slow.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Isolated("its machines take both processors")
class TwoMachinesTest {
    private static final String FABRIC = System.getProperty("lite.rdma.vm.fabric", "rdma");
    private static final Duration START = Duration.ofSeconds(90);
    private static final Duration WORKLOAD = Duration.ofMinutes(2);
    private static final Duration BACK = Duration.ofSeconds(90);

    /** When a process dies, its kernel closes its queue pairs, which the peer's kernel notices. */
    private static final long KILLED_MS_MAX = 5_000;

    /** Three seconds without a sign of life, plus the slowness of an emulated processor. */
    private static final long SILENT_MS_MAX = 12_000;

    private static @Nullable VmPair pair;
    private static Machines.@Nullable Pair machines;
    private static @Nullable Running caller;
    private static @Nullable Running server;
    private static @Nullable Running stranger;

    /** How many of the caller's lines were read. */
    private static int linesSeen;

    @BeforeAll
    static void bootAndStart() {
        if (Machines.here()) {
            machines = Machines.two("two");
        } else {
            pair = VmPair.boot(Machines.image(), "two", "2G");
            machines = pair.asPair();
        }
        // The server waits for the caller's ZooKeeper.
        caller = node(machines.a(), NodeProgram.CALLER, NodeProgram.SECRET);
        server = node(machines.b(), NodeProgram.SERVER, NodeProgram.SECRET);
    }

    @AfterAll
    static void close() {
        if (pair != null) {
            pair.close();
        } else if (machines != null) {
            machines.close();
        }
    }

    private static Running node(Machine machine, String role, String secret) {
        return machine.java(
                List.of("-Xmx192m", "-XX:TieredStopAtLevel=1"),
                NodeProgram.class,
                role,
                FABRIC,
                machine.address(),
                Objects.requireNonNull(machines).a().address(),
                secret,
                machine.memory());
    }

    /** The caller's next line with this prefix, after the lines returned before. */
    private static String next(String prefix, Duration deadline) {
        String line = Objects.requireNonNull(caller).awaitLine(prefix, linesSeen, deadline);
        linesSeen = Objects.requireNonNull(caller).output().lines().toList().lastIndexOf(line) + 1;
        return line;
    }

    /** Asserts that an operation fails and that the connection is closed in time. */
    private static void assertCutWithin(long ms) {
        String lost = next("lost", START);
        String cut = next("cut", START);
        System.out.println("two machines: %s; %s".formatted(lost, cut));
        assertThat(number(lost) + number(cut))
                .as("ms from the last answer until the connection is closed")
                .isLessThan(ms);
    }

    private static long number(String line) {
        return Long.parseLong(line.split(" ", -1)[1]);
    }

    @Test
    @Order(1)
    void readsWritesCallsAndLocksWorkBetweenTwoKernels() {
        Objects.requireNonNull(server).awaitLine("serving", START);
        System.out.println("two machines: " + next("spread", WORKLOAD));
        // For the next test: it starts beside the rest, but not earlier, because memory is spread over all nodes.
        stranger =
                node(Objects.requireNonNull(machines).b(), NodeProgram.STRANGER, "another secret of the same length");
        for (String part : List.of("transfers", "calls", "locks", "workload done")) {
            System.out.println("two machines: " + next(part, WORKLOAD));
        }
        next("watching", START);
    }

    @Test
    @Order(2)
    void aNodeWithAnotherSecretIsRefusedWithAReason() {
        Running refused = Objects.requireNonNull(stranger);
        refused.awaitLine("trouble printed", START);
        assertThat(refused.output())
                .contains("trouble with server over none: ", "trouble with caller over none: ")
                .contains("the cluster secret differs");
    }

    /**
     * The RDMA card still answers for the paused process, so the connection stays open; only ZooKeeper can declare the node
     * dead, when its session expires. Operations that need the node's processor end at the caller's deadline.
     */
    @Test
    @Order(3)
    void aPausedProcessIsStillReadableAndAnswersCallsOnceItResumes() {
        assumeTrue(FABRIC.equals("rdma"), "over " + FABRIC + " reads need the processor of the owner");
        Running stopped = Objects.requireNonNull(server);
        stopped.signal("STOP");
        System.out.println("two machines: " + next("lost", START));
        next("reads continue", START);
        stopped.signal("CONT");
        assertThat(next("back", BACK)).endsWith(FABRIC);
        assertThat(next("memory", BACK)).isEqualTo("memory kept");
    }

    @Test
    @Order(4)
    void aKilledProcessIsDetectedAndItsMemoryIsBackAfterItsRestart() {
        Objects.requireNonNull(server).kill();
        assertCutWithin(KILLED_MS_MAX);
        server = node(Objects.requireNonNull(machines).b(), NodeProgram.SERVER, NodeProgram.SECRET);
        assertThat(next("back", BACK)).endsWith(FABRIC);
        assertThat(next("memory", BACK)).isEqualTo("memory kept");
    }

    /**
     * The second machine cannot send for a while. The link stays up: if soft RoCE (Linux 6.1) must send a connection
     * manager message while the link is down, it closes its queue pair for such messages, and no program on that machine,
     * not even rping, can connect until the device is created again.
     */
    @Test
    @Order(5)
    void operationsFailWhileTheCableIsCutAndSucceedAfterItsRepair() {
        assumeTrue(!Machines.here(), "-Drdma.here cuts no cable of this machine");
        Machine b = Objects.requireNonNull(machines).b();
        String neighbour = "ip neigh replace %s dev eth0 lladdr 52:54:00:00:00:%s nud %s";
        String address = Objects.requireNonNull(machines).a().address();
        b.run(neighbour.formatted(address, "99", "permanent"), START);
        assertCutWithin(SILENT_MS_MAX);
        b.run(neighbour.formatted(address, "01", "reachable"), START);
        assertThat(next("back", BACK)).endsWith(FABRIC);
        assertThat(next("memory", BACK)).isEqualTo("memory kept");
    }

    @Test
    @Order(6)
    void aCrashedMachineIsDetectedByItsSilenceAndItsNodeIsUsedAgainAfterItsBoot() {
        assumeTrue(pair != null, "-Drdma.here does not crash this machine");
        VmPair both = Objects.requireNonNull(pair);
        both.b().crash();
        assertCutWithin(SILENT_MS_MAX);
        both.bootB();
        machines = both.asPair();
        server = node(both.b(), NodeProgram.SERVER, NodeProgram.SECRET);
        assertThat(next("back", BACK)).endsWith(FABRIC);
        assertThat(next("memory", BACK))
                .as("the memory was lost with the machine")
                .isNotEqualTo("memory kept");
    }

    /** Must run last, because soft RoCE does not recover from it; see the cut cable. */
    @Test
    @Order(7)
    void aLinkThatIsDownFailsOperations() {
        assumeTrue(!Machines.here(), "-Drdma.here takes no link of this machine down");
        Objects.requireNonNull(machines).b().run("ip link set eth0 down", START);
        assertCutWithin(SILENT_MS_MAX);
    }
}
