package dev.lite.system;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Faults of the network between three hosts and ZooKeeper, under a checked workload. Skipped if network namespaces cannot be created.
 */
@Tag("faults")
class PartitionTest {
    private static final Duration SESSION_TIMEOUT = Waits.seconds(3);
    /** The deadline of operations: longer than a node takes to start on a busy machine. */
    private static final Duration DEADLINE = Waits.seconds(12);

    private static final Duration SOON = Waits.seconds(90);
    private static final long SEED = Long.getLong("lite.faults.seed", System.nanoTime());
    private static final int SWITCH = 0; // the host of ZooKeeper and the manager
    private static final FaultReport REPORT = new FaultReport(SESSION_TIMEOUT);

    @TempDir
    private static Path directory;

    /** Directory of the arenas. */
    @TempDir(factory = InDevShm.class)
    private static Path memory;

    private static @Nullable HostsCluster cluster;
    private static Applications applications;
    private static @Nullable Workload workload;

    private WorkloadBooks.Tally before = WorkloadBooks.Tally.NONE;

    @BeforeAll
    static void start() throws IOException {
        var reason = Hosts.unavailable();
        assumeTrue(reason.isEmpty(), () -> "skipped: " + reason.orElse(""));
        System.out.println("seed " + SEED);
        Path logs = Path.of(System.getProperty("lite.system.logs"), "PartitionTest");
        HostsCluster hosts = new HostsCluster(
                3,
                directory,
                memory,
                logs,
                true,
                List.of(
                        "--lite.cluster.session-timeout=" + SESSION_TIMEOUT.toMillis() + "ms",
                        "--lite.node.deadline=" + DEADLINE.toMillis() + "ms",
                        "--lite.node.tcp.peer-timeout=" + SESSION_TIMEOUT.toMillis() + "ms"));
        cluster = hosts;
        applications = new Applications();
        awaitWhole(hosts);
        workload = new Workload(SEED, 3, host -> applications.start(hosts.socket(host), DEADLINE), DEADLINE, true);
        workload.start();
    }

    @AfterAll
    static void stop() {
        HostsCluster hosts = cluster;
        if (hosts == null) {
            return;
        }
        Applications attached = applications;
        Workload last = workload;
        try (hosts;
                attached;
                last) {
            if (last != null) {
                last.finish();
                FaultReport.requireRight(last);
            }
        } finally {
            REPORT.print();
        }
    }

    private static HostsCluster cluster() {
        return Objects.requireNonNull(cluster);
    }

    private static Workload workload() {
        return Objects.requireNonNull(workload);
    }

    @BeforeEach
    void begin() {
        awaitWhole(cluster());
        var unused = workload().awaitRound(SOON);
        before = workload().books().tally();
    }

    @AfterEach
    void nothingIsWrong() {
        FaultReport.requireRight(workload());
    }

    private static void awaitWhole(HostsCluster hosts) {
        for (int host = 1; host <= 3; host++) {
            try (Lite lite = hosts.attach(host)) {
                HostsCluster.awaitConnected(lite, 2);
            }
        }
    }

    private void over(String fault, @Nullable Duration locks) {
        Duration recovery = workload().awaitRound(SOON);
        REPORT.add(fault, workload().books().tally().minus(before), recovery, locks);
    }

    @Test
    void aPartitionBetweenTwoNodesAffectsNoOther() {
        cluster().hosts().cut(2, 3);
        // node-1, which reaches both, is the home of the locks' words. So locks work at every node, even after
        // operations across the cut have failed.
        Duration locks = workload().awaitLocks(SOON, 1, 2, 3);
        Waits.until(
                "an operation across the cut fails",
                SOON,
                () -> workload().books().tally().minus(before).failed() > 0);
        var unusedLocks = workload().awaitLocks(SOON, 1, 2, 3);
        cluster().hosts().heal(2, 3);
        over("a partition between two nodes", locks);
    }

    /** The peer never hears of the end: to it, the old connection is still open when the new one is made. */
    @Test
    void aHalfOpenConnectionIsReplaced() throws IOException {
        for (int peer : new int[] {1, 2}) {
            cluster().hosts().cut(peer, 3);
        }
        cluster().killNode(3);
        for (int peer : new int[] {1, 2}) {
            cluster().hosts().heal(peer, 3);
        }
        cluster().startNode(3);
        over("a half-open connection is replaced", null);
    }

    /**
     * A node that moves LMRs has lost ZooKeeper while another node was killed and returned. When it hears of the changes
     * again, it must not take that node for gone: that node writes to the LMR, and would write to the memory that the move
     * left.
     */
    @Test
    void theMoverLosesZooKeeperWhileANodeReturns() throws IOException {
        Random random = new Random(SEED);
        try (Lite mover = cluster().attach(1)) {
            LmrHandle moved = mover.memory()
                    .malloc(
                            LmrSpec.of(64 << 10)
                                    .withName("partition/moved")
                                    .withPlacement(Placement.on("node-2"))
                                    .withDefaultPermissions(Permission.READ, Permission.WRITE),
                            SOON);
            cluster().hosts().cut(1, SWITCH);
            cluster().killNode(3);
            cluster().startNode(3);
            try (Lite writer = cluster().attach(3)) {
                LmrHandle written = writer.memory().map("partition/moved", Permission.READ, Permission.WRITE);
                cluster().hosts().heal(1, SWITCH);
                List<LmrHandle> others = new ArrayList<>();
                byte[] other = new byte[64 << 10];
                Arrays.fill(other, (byte) 7);
                for (int round = 0; round < 20; round++) {
                    moveWhenPossible(moved, "node-" + (1 + round % 2));
                    LmrHandle next = mover.memory().malloc(LmrSpec.of(other.length)); // may get what the move left
                    next.write(0, other);
                    others.add(next);
                    byte[] bytes = new byte[64 << 10];
                    random.nextBytes(bytes);
                    written.write(0, bytes);
                    byte[] read = new byte[bytes.length];
                    moved.read(0, read);
                    requireSame(read, bytes, "the moved LMR in round " + round);
                    for (LmrHandle one : others) {
                        one.read(0, read);
                        requireSame(read, other, "another LMR in round " + round);
                    }
                }
                others.forEach(LmrHandle::free);
            }
            moved.free();
        }
        over("the mover loses ZooKeeper, a node returns", null);
    }

    private static void moveWhenPossible(LmrHandle moved, String node) {
        Waits.until("the LMR moves", SOON, () -> {
            try {
                moved.moveTo(node);
                return true;
            } catch (LiteException e) {
                return false; // without ZooKeeper, or while a node is away
            }
        });
    }

    private static void requireSame(byte[] read, byte[] written, String what) {
        if (!Arrays.equals(read, written)) {
            throw new AssertionError("%s: byte %d is wrong".formatted(what, Arrays.mismatch(read, written)));
        }
    }
}
