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
 * Two nodes in two machines, so over two kernels: they work together, and one of them fails in every way there is. The cases use the
 * same two machines one after the other; a machine is booted in seconds, a JVM is not.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Isolated("its machines take both processors")
class TwoMachinesTest {
    private static final String FABRIC = System.getProperty("lite.rdma.vm.fabric", "rdma");
    private static final Duration START = Duration.ofSeconds(90);
    private static final Duration WORKLOAD = Duration.ofMinutes(2);
    private static final Duration BACK = Duration.ofSeconds(90);

    /** The kernel tells of a process's death: its queue pairs end, which its peer's kernel hears. */
    private static final long KILLED_MS_MAX = 5_000;

    /** Three seconds without a sign of life, and what an emulated processor takes for everything. */
    private static final long SILENT_MS_MAX = 12_000;

    private static @Nullable VmPair pair;
    private static Machines.@Nullable Pair machines;
    private static @Nullable Running caller;
    private static @Nullable Running server;

    /** Of the caller's lines, how many were looked at. */
    private static int linesSeen;

    @BeforeAll
    static void bootAndStart() {
        if (Machines.here()) {
            machines = Machines.two("two");
        } else {
            pair = VmPair.boot(Machines.image(), "two", "2G");
            machines = pair.asPair();
        }
        caller = node(machines.a(), NodeProgram.CALLER, NodeProgram.SECRET);
        caller.awaitLine("zookeeper", START);
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

    /** The caller's next line that begins so, after those that were returned before. */
    private static String next(String prefix, Duration deadline) {
        String line = Objects.requireNonNull(caller).awaitLine(prefix, linesSeen, deadline);
        linesSeen = Objects.requireNonNull(caller).output().lines().toList().lastIndexOf(line) + 1;
        return line;
    }

    /** An operation fails, and the connection is known to be gone. */
    private static void assertCutWithin(long ms) {
        String lost = next("lost", START);
        String cut = next("cut", START);
        System.out.println("two machines: %s; %s".formatted(lost, cut));
        assertThat(number(lost) + number(cut))
                .as("ms from the last answer until the connection counts as gone")
                .isLessThan(ms);
    }

    private static long number(String line) {
        return Long.parseLong(line.split(" ", -1)[1]);
    }

    @Test
    @Order(1)
    void readsWritesCallsAndLocksWorkBetweenTwoKernels() {
        Objects.requireNonNull(server).awaitLine("serving", START);
        for (String part : List.of("transfers", "spread", "calls", "locks", "workload done")) {
            System.out.println("two machines: " + next(part, WORKLOAD));
        }
        next("watching", START);
    }

    @Test
    @Order(2)
    void aNodeWithAnotherSecretIsRefusedWithAReason() {
        Running stranger =
                node(Objects.requireNonNull(machines).b(), NodeProgram.STRANGER, "another secret of the same length");
        stranger.awaitLine("said", START);
        assertThat(stranger.output())
                .contains("trouble with server over none: ", "trouble with caller over none: ")
                .contains("the cluster secret differs");
    }

    /**
     * Its card answers for it, so it is not cut off: to say that it is gone is up to ZooKeeper, whose session its process has to keep. What needs
     * its processor ends by the caller's deadline.
     */
    @Test
    @Order(3)
    void aStoppedProcessIsStillReadAndAnswersCallsOnceItGoesOn() {
        assumeTrue(FABRIC.equals("rdma"), "over " + FABRIC + " reads need the processor of the owner");
        Running stopped = Objects.requireNonNull(server);
        stopped.signal("STOP");
        System.out.println("two machines: " + next("lost", START));
        next("reads go on", START);
        stopped.signal("CONT");
        assertThat(next("back", BACK)).endsWith(FABRIC);
        assertThat(next("memory", BACK)).isEqualTo("memory kept");
    }

    @Test
    @Order(4)
    void aKilledProcessIsNoticedAndItsMemoryIsThereAgainWhenItIsBack() {
        Objects.requireNonNull(server).kill();
        assertCutWithin(KILLED_MS_MAX);
        server = node(Objects.requireNonNull(machines).b(), NodeProgram.SERVER, NodeProgram.SECRET);
        assertThat(next("back", BACK)).endsWith(FABRIC);
        assertThat(next("memory", BACK)).isEqualTo("memory kept");
    }

    /**
     * The second machine sends to nobody for a while. Its link is not set down here: a connection manager's message that soft RoCE (Linux 6.1)
     * is to send meanwhile ends its queue pair for such messages, and no program of that machine connects again, rping neither,
     * until the device is made anew.
     */
    @Test
    @Order(5)
    void aCutCableFailsOperationsAndAfterItIsMendedTheyGoOn() {
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
    void aCrashedMachineIsNoticedBySilenceAndItsNodeIsUsedAgainAfterItsBoot() {
        assumeTrue(pair != null, "-Drdma.here does not crash this machine");
        VmPair both = Objects.requireNonNull(pair);
        both.b().crash();
        assertCutWithin(SILENT_MS_MAX);
        both.bootB();
        machines = both.asPair();
        server = node(both.b(), NodeProgram.SERVER, NodeProgram.SECRET);
        assertThat(next("back", BACK)).endsWith(FABRIC);
        assertThat(next("memory", BACK)).as("memory was lost with the machine").isNotEqualTo("memory kept");
    }

    /** The last one, since soft RoCE does not recover from it; see the cut cable. */
    @Test
    @Order(7)
    void aLinkThatIsDownFailsOperations() {
        assumeTrue(!Machines.here(), "-Drdma.here takes no link of this machine down");
        Objects.requireNonNull(machines).b().run("ip link set eth0 down", START);
        assertCutWithin(SILENT_MS_MAX);
    }
}
