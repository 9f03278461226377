package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.VersionedRecord;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSync;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nodes whose arenas end with their processes get only what may be lost with them, if there are others. */
class VolatileArenasTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final Duration SHORT = Waits.seconds(0.5);

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster() {
        return new TestCluster(root, new ShmFabricProvider());
    }

    /** Starts a node like an embedded one. */
    private void startVolatile(TestCluster cluster, String name) {
        start(cluster, name, TestCluster.ARENA_BYTES, ArenaConfig.Kept.NEVER);
    }

    private void start(TestCluster cluster, String name, long arenaBytes, ArenaConfig.Kept kept) {
        cluster.start(LiteNodeConfig.builder("c", name, arenaBytes, root.resolve("run-" + name))
                .arena(root.resolve("others"), kept)
                .limits(new LiteNodeConfig.Limits(Long.MAX_VALUE, 1 << 20, 0, 8))
                .deadline(Waits.seconds(10))
                .pollSpins(100)
                .build());
        cluster.awaitConnections();
    }

    private static void lockAndBarrier(TestCluster cluster, int node) {
        try (HeldLock held = cluster.attach(node).sync().lock("x").acquire(LONG)) {
            assertThat(held.isHeld()).isTrue();
        }
        cluster.attach(node).sync().barrier("x", 1).await(LONG);
    }

    /** The nodes with the words of the lock and the barrier. */
    private static List<Integer> homes(TestCluster cluster) {
        return List.of("lock", "barrier").stream()
                .map(kind -> cluster.directory(0)
                        .read(ClusterDirectory.INTERNAL_PREFIX + kind + "/x", LONG)
                        .map(VersionedRecord::bytes)
                        .map(LmrRecord::decode)
                        .orElseThrow()
                        .shares()
                        .getFirst()
                        .node())
                .toList();
    }

    private static int id(TestCluster cluster, String node) {
        return cluster.node(node).self().id();
    }

    @Test
    void theWordsOfItsLocksAndBarriersLieAtAnotherNode() {
        try (TestCluster cluster = cluster().start(1)) {
            startVolatile(cluster, "n1");
            startVolatile(cluster, "n2");

            lockAndBarrier(cluster, 2);

            assertThat(homes(cluster)).containsOnly(id(cluster, "n0"));
        }
    }

    @Test
    void aLockOfANodeWhoseArenaIsKeptHasItsWordThere() {
        try (TestCluster cluster = cluster().start(3)) {
            lockAndBarrier(cluster, 2);
            assertThat(homes(cluster)).containsOnly(id(cluster, "n2"));
        }
    }

    @Test
    void amongVolatileArenasTheOwnOneIsUsed() {
        try (TestCluster cluster = cluster()) {
            startVolatile(cluster, "n0");
            startVolatile(cluster, "n1");

            lockAndBarrier(cluster, 1);

            assertThat(homes(cluster)).containsOnly(id(cluster, "n1"));
        }
    }

    /** As the guide says of a cluster of embedded nodes only. Nobody knows the last token of the lock any more. */
    @Test
    void amongVolatileArenasTheNamesThatANodeUsedFirstAreLostWithItEvenIfItStartsAgain() {
        try (TestCluster cluster = cluster()) {
            startVolatile(cluster, "n0");
            startVolatile(cluster, "n1");
            lockAndBarrier(cluster, 1);
            cluster.stop("n1"); // without a drain, as if it was killed

            assertNamesAreLost(cluster, 0);
            startVolatile(cluster, "n1");
            assertNamesAreLost(cluster, 0);
            assertNamesAreLost(cluster, 1);

            cluster.attach(0).sync().lock("another").acquire(LONG).close();
        }
    }

    private static void assertNamesAreLost(TestCluster cluster, int node) {
        TierSync sync = cluster.node(node).open("app", "test").sync();
        assertThatThrownBy(() -> sync.lock("x", SHORT).acquire(SHORT))
                .isInstanceOf(LmrUnavailableException.class)
                .hasMessageContaining("x\"")
                .hasMessageContaining("node n1");
        assertThatThrownBy(() -> sync.barrier("x", 1, SHORT).await(SHORT))
                .isInstanceOf(LmrUnavailableException.class)
                .hasMessageContaining("x\"")
                .hasMessageContaining("node n1");
    }

    @Test
    void amongVolatileArenasTheNamesOfANodeThatIsDrainedStayUsable() {
        try (TestCluster cluster = cluster()) {
            startVolatile(cluster, "n0");
            startVolatile(cluster, "n1");
            lockAndBarrier(cluster, 1);
            assertThat(cluster.node(1).drain(LONG)).isEmpty();
            cluster.stop("n1");

            lockAndBarrier(cluster, 0);

            assertThat(homes(cluster)).containsOnly(id(cluster, "n0"));
        }
    }

    @Test
    void whileTheOthersTakeNoMemoryTheOwnOneIsUsed() {
        try (TestCluster cluster = cluster().start(1)) {
            startVolatile(cluster, "n1");
            assertThat(cluster.node(0).drain(LONG)).isEmpty();

            lockAndBarrier(cluster, 1);

            assertThat(homes(cluster)).containsOnly(id(cluster, "n1"));
        }
    }

    @Test
    void aDrainMovesMemoryThereOnlyIfTheOthersLackRoom() {
        long small = 12 << 20;
        try (TestCluster cluster = cluster()) {
            cluster.start("n0");
            start(cluster, "n1", small, ArenaConfig.Kept.ALWAYS);
            startVolatile(cluster, "n2");
            LmrHandle fits = named(cluster, "fits", 1 << 20);
            LmrHandle large = named(cluster, "large", small);

            assertThat(cluster.node(0).drain(LONG)).isEmpty();

            assertThat(fits.extents()).extracting(Extent::node).containsExactly("n1");
            assertThat(large.extents()).extracting(Extent::node).contains("n2");
        }
    }

    @Test
    void aPlacementThatLeavesTheChoiceDoesNotChooseThem() {
        try (TestCluster cluster = cluster().start(2)) {
            startVolatile(cluster, "n2");
            LtMemory memory = cluster.attach(2).memory();
            LmrHandle spread = memory.malloc(LmrSpec.of(1 << 20).withPlacement(Placement.spread()));
            assertThat(spread.extents())
                    .extracting(Extent::node)
                    .contains("n0", "n1")
                    .doesNotContain("n2");
            for (int i = 0; i < 4; i++) {
                LmrHandle one = memory.malloc(LmrSpec.of(64).withPlacement(Placement.roundRobin()));
                assertThat(one.extents()).extracting(Extent::node).containsAnyOf("n0", "n1");
            }
            LmrHandle local = memory.malloc(LmrSpec.of(64).withPlacement(Placement.local()));
            assertThat(local.extents()).extracting(Extent::node).containsExactly("n2");
        }
    }

    @Test
    void amongThemselvesTheyShareAll() {
        try (TestCluster cluster = cluster()) {
            startVolatile(cluster, "n0");
            startVolatile(cluster, "n1");
            LmrHandle spread =
                    cluster.attach(0).memory().malloc(LmrSpec.of(1 << 20).withPlacement(Placement.spread()));
            assertThat(spread.extents()).extracting(Extent::node).contains("n0", "n1");
        }
    }

    private static LmrHandle named(TestCluster cluster, String name, long bytes) {
        return cluster.attach(2)
                .memory()
                .malloc(LmrSpec.of(bytes)
                        .withName(name)
                        .withPlacement(Placement.on("n0"))
                        .withDefaultPermissions(Permission.READ));
    }
}
