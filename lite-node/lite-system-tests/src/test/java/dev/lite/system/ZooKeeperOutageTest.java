package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Outages of ZooKeeper must not affect applications that already have their handles and locks. There is an ensemble of three server
 * processes, a manager and three nodes. Applications work continuously and check every answer; no operation may fail.
 */
class ZooKeeperOutageTest {
    private static final Duration SESSION_TIMEOUT = Waits.seconds(4);
    private static final Duration DEADLINE = Waits.seconds(10);
    private static final Duration SOON = Waits.seconds(30);
    private static final long SEED = System.nanoTime();

    private static ZooKeepers zooKeepers;
    private static LocalCluster cluster;

    private Workload workload;

    @BeforeAll
    static void start() throws IOException {
        System.out.println("seed " + SEED);
        Path logs = Path.of(System.getProperty("lite.system.logs"), "ZooKeeperOutageTest");
        zooKeepers = ZooKeepers.start(Files.createTempDirectory(Files.createDirectories(logs), "zookeepers"), 3);
        cluster = Clusters.builder("ZooKeeperOutageTest")
                .zookeeper(zooKeepers.connectString())
                .property("lite.cluster.session-timeout", SESSION_TIMEOUT.toMillis() + "ms")
                .fabrics("shm", "tcp")
                .build();
        cluster.startManager();
        cluster.startNodes();
    }

    @AfterAll
    static void stop() {
        cluster.close();
        zooKeepers.close();
    }

    @BeforeEach
    void startWorkload() {
        zooKeepers.startAll();
        try (Lite lite = Clusters.attach(cluster, 1)) {
            awaitNodes(lite);
            // The nodes may be connected while ZooKeeper's servers still elect a leader.
            Waits.until("a new name works", SOON, () -> makeAndFree(lite, "away/before-the-test"));
        }
        workload = new Workload(SEED, 3, node -> Clusters.attach(cluster, node), DEADLINE);
        workload.start();
        var unused = workload.awaitRound(SOON);
    }

    @AfterEach
    void endWorkload() {
        zooKeepers.signal("CONT");
        zooKeepers.startAll();
        try (Lite lite = Clusters.attach(cluster, 1)) {
            awaitNodes(lite);
            workload.close();
            Waits.until("a new name works", SOON, () -> makeAndFree(lite, "away/after-the-test"));
            map(lite, "workload/memory", DEADLINE).free();
        }
    }

    /** Asserts that there was no failure at all; prints the failures by name. */
    private void requireNoFailure() {
        workload.finish();
        assertThat(workload.books().wrong()).isEmpty();
        assertThat(workload.books().failures()).isEmpty();
    }

    @Test
    void theLeadingServerIsKilledAndEverythingContinues() {
        int leader = zooKeepers.leader().orElseThrow();

        zooKeepers.kill(leader);

        try (Lite lite = Clusters.attach(cluster, 2)) {
            Waits.until("a new name works", SOON, () -> makeAndFree(lite, "away/after-leader"));
            Waits.pass(SESSION_TIMEOUT.multipliedBy(2));
            assertThat(makeAndFree(lite, "away/after-leader")).isTrue();
        }
        var unused = workload.awaitRound(SOON);
        requireNoFailure();
    }

    @Test
    void aLongOutageOfAllServersPreventsOnlyNewNames() {
        try (Lite lite = Clusters.attach(cluster, 2)) {
            LmrHandle before = lite.memory().malloc(LmrSpec.of(4096).withName("away/before"));
            List<NodeInfo> nodes = lite.nodes();

            zooKeepers.killAll();

            // Fails as soon as the outage is noticed, and at the deadline at the latest.
            assertUnavailable(() -> map(lite, "away/before", Waits.seconds(3)), Waits.seconds(3));
            Waits.pass(SESSION_TIMEOUT.multipliedBy(2).plus(Waits.seconds(1)));
            assertUnavailable(() -> map(lite, "away/before", DEADLINE), DEADLINE);
            assertUnavailable(() -> lite.memory().malloc(LmrSpec.of(4096).withName("away/new"), DEADLINE), DEADLINE);
            assertUnavailable(() -> lite.sync().lock("away/new-lock"), DEADLINE);
            assertThat(lite.nodes()).extracting(NodeInfo::name).containsExactlyInAnyOrder("node-1", "node-2", "node-3");
            assertThat(before.fetchAdd(0, 1)).isZero();
            // Anonymous memory and a known lock do not need ZooKeeper.
            try (LmrHandle anonymous = lite.memory().malloc(LmrSpec.of(1 << 20))) {
                assertThat(anonymous.fetchAdd(8, 3)).isZero();
                anonymous.free();
            }
            var unused = workload.awaitRound(SOON);

            zooKeepers.startAll();

            Waits.until("a new name works", SOON, () -> makeAndFree(lite, "away/new"));
            awaitNodes(lite);
            assertThat(lite.nodes()).extracting(NodeInfo::id).containsExactlyElementsOf(ids(nodes));
            assertThat(map(lite, "away/before", DEADLINE).fetchAdd(0, 1)).isEqualTo(1);
            Waits.pass(SESSION_TIMEOUT.multipliedBy(2)); // the old sessions end meanwhile
            awaitNodes(lite);
            before.free();
        }
        requireNoFailure();
    }

    @Test
    void slowServersGoUnnoticed() {
        for (int stop = 0; stop < 3; stop++) {
            zooKeepers.signal("STOP");
            Waits.pass(SESSION_TIMEOUT.dividedBy(3));
            zooKeepers.signal("CONT");
            Waits.pass(SESSION_TIMEOUT.dividedBy(3));
        }
        try (Lite lite = Clusters.attach(cluster, 3)) {
            Waits.until("a new name works", SOON, () -> makeAndFree(lite, "away/after-slow"));
        }
        var unused = workload.awaitRound(SOON);
        requireNoFailure();
    }

    /**
     * When paused servers resume, it seems to them that all clients were silent, so they expire the sessions. Every node then loses its
     * registration and abandons its outstanding operations. These may fail with exceptions, but no effect may be lost or wrong.
     */
    @Test
    void serversPausedForLongCountAsAnOutageAndEveryNodeRecovers() {
        try (Lite lite = Clusters.attach(cluster, 3)) {
            zooKeepers.signal("STOP");

            assertUnavailable(() -> map(lite, "away/nothing", Waits.seconds(1)), Waits.seconds(1));
            Waits.pass(SESSION_TIMEOUT.multipliedBy(2).plus(Waits.seconds(1)));
            assertUnavailable(() -> map(lite, "away/nothing", Waits.seconds(1)), Waits.seconds(1));
            var unused = workload.awaitRound(SOON);
            assertThat(workload.books().failures())
                    .as("while the servers are paused")
                    .isEmpty();

            zooKeepers.signal("CONT");

            Waits.until("a new name works", SOON, () -> makeAndFree(lite, "away/after-stop"));
            Waits.pass(SESSION_TIMEOUT.multipliedBy(2));
            awaitNodes(lite);
        }
        var unused = workload.awaitRound(SOON);
        workload.finish();
        System.out.println("after the servers were paused: " + workload.books().failures());
        assertThat(workload.books().wrong()).isEmpty();
    }

    private static List<Integer> ids(List<NodeInfo> nodes) {
        return nodes.stream().map(NodeInfo::id).toList();
    }

    private static LmrHandle map(Lite lite, String name, Duration deadline) {
        return lite.memory()
                .map(name, java.util.EnumSet.of(Permission.READ, Permission.ATOMIC, Permission.MASTER), deadline);
    }

    private static boolean makeAndFree(Lite lite, String name) {
        try {
            lite.memory().malloc(LmrSpec.of(4096).withName(name), DEADLINE).free();
            return true;
        } catch (ClusterUnavailableException e) {
            return false;
        }
    }

    private static void assertUnavailable(Runnable call, Duration deadline) {
        long startNs = System.nanoTime();
        assertThatThrownBy(call::run)
                .isInstanceOf(ClusterUnavailableException.class)
                .isInstanceOf(LiteException.class);
        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(deadline.plus(Waits.seconds(1)));
    }

    private static void awaitNodes(Lite lite) {
        Waits.until("all nodes are connected", SOON, () -> {
            List<NodeInfo> nodes = lite.nodes();
            return nodes.size() == 3
                    && nodes.stream().noneMatch(node -> node.fabric().equals("none"));
        });
    }
}
