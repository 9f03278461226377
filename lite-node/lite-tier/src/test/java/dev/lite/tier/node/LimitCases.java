package dev.lite.tier.node;

import static dev.lite.tier.node.DataCases.nodesOf;
import static dev.lite.tier.node.LiteNodeContract.atRest;
import static dev.lite.tier.node.LiteNodeContract.awaitRest;
import static dev.lite.tier.node.LiteNodeContract.shared;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.testing.Waits;
import dev.lite.tier.TierHandle;
import dev.lite.tier.TierSession;
import dev.lite.tier.testing.TestCluster;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Limits. A refused call must leave nothing behind. */
interface LimitCases extends NodeCases {

    @Test
    default void theHandlesOfASessionAndTheSizeOfAnLmrAreLimited() {
        TestCluster cluster = cluster(0);
        LiteNode node = cluster.start(cluster.config("n0").toBuilder()
                .limits(new LiteNodeConfig.Limits(1_000_000, 3, 0, 8))
                .build());
        LtMemory memory = node.attach("app").memory();
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> memory.malloc(LmrSpec.of(1_000_001)))
                .withMessageContaining("1000001 bytes is too large; the limit is 1000000 (lite.node.limits.lmr-size)");
        // Freed, unmapped and refused handles do not count.
        for (int count = 0; count < 10; count++) {
            memory.malloc(shared(100, "again")).free();
            memory.malloc(LmrSpec.of(100)).unmap();
            assertThatThrownBy(() -> memory.map("nothing", Permission.READ)).isInstanceOf(LmrNotFoundException.class);
        }
        memory.malloc(shared(100, "x"));
        memory.map("x", Permission.READ);
        LmrHandle third = memory.map("x", Permission.READ);
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> memory.map("x", Permission.READ))
                .withMessageContaining("has 3 handles; the limit is 3 (lite.node.limits.handles-per-session)");
        assertThatThrownBy(() -> memory.malloc(LmrSpec.of(1))).isInstanceOf(LimitExceededException.class);
        third.unmap();
        memory.map("x", Permission.READ);
        node.attach("app").memory().map("x", Permission.READ);
    }

    @Test
    default void theHandlesOfAttachedApplicationsAreDividedAmongPrincipals() {
        TestCluster cluster = cluster(0);
        LiteNode node = cluster.start(cluster.config("n0").toBuilder()
                .limits(LiteNodeConfig.Limits.DEFAULT.withHandles(8))
                .build());
        node.attach("app").memory().malloc(shared(100, "x"));
        for (int round = 0; round < 2; round++) { // the end of a session returns its places
            TierSession first = node.open("greedy", "a");
            TierSession second = node.open("greedy", "b");
            TierSession good = node.open("good", "c");
            for (int handle = 0; handle < 3; handle++) {
                first.map("x", Set.of(Permission.READ), Waits.seconds(20));
            }
            TierHandle fourth = second.map("x", Set.of(Permission.READ), Waits.seconds(20));
            assertThatExceptionOfType(LimitExceededException.class)
                    .isThrownBy(() -> second.map("x", Set.of(Permission.READ), Waits.seconds(20)))
                    .withMessage(
                            "handles at node n0: \"greedy\" has 4 of 4; all may have 8, and one principal as many as it leaves free (lite.node.limits.handles)");
            fourth.unmap();
            for (int count = 0; count < 3; count++) { // what fails takes no place
                assertThatThrownBy(() -> second.map("nothing", Set.of(Permission.READ), Waits.seconds(20)))
                        .isInstanceOf(LmrNotFoundException.class);
            }
            second.map("x", Set.of(Permission.READ), Waits.seconds(20));
            good.map("x", Set.of(Permission.READ), Waits.seconds(20));
            good.map("x", Set.of(Permission.READ), Waits.seconds(20));
            first.close();
            second.close();
            good.close();
        }
    }

    @Test
    default void handlesFreedByARemoteMasterDoNotCountAgainstTheLimit() {
        TestCluster cluster = cluster(1);
        LiteNode mapper = cluster.start(cluster.config("n1").toBuilder()
                .limits(new LiteNodeConfig.Limits(1_000_000, 3, 0, 8))
                .build());
        cluster.awaitConnections();
        LtMemory memory = mapper.attach("app").memory();
        for (int count = 0; count < 10; count++) {
            LmrHandle master = cluster.attach(0).memory().malloc(shared(64, "again"));
            memory.map("again", Permission.READ);
            master.free();
        }
        assertThat(mapper.figures().usage().handles()).isZero();
    }

    @Test
    default void aNameForWhichNoIdIsLeftDoesNotStartButAFormerNameDoes() {
        TestCluster cluster = cluster(0);
        try (InMemoryDirectory former = cluster.store().open()) {
            for (int id = 0; id < 8; id++) {
                assertThat(former.claimId("former-" + id, NodeAdvert.NO_ID, Waits.seconds(20)))
                        .isEqualTo(id);
            }
        }
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> cluster.start("new"))
                .withMessageContaining("node new has the id 8 in cluster \"c\"; its arena serves ids below 8")
                .withMessageContaining("lite.node.limits.nodes")
                .withMessageContaining("give this node the name of one that does not return, or raise the limit");
        assertThat(cluster.start("former-3").nodes())
                .singleElement()
                .satisfies(node -> assertThat(node.id()).isEqualTo(3));
    }

    @Test
    default void aMallocThatFailsOnTheThirdNodeFreesTheMemoryOfTheOthers() {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        LmrHandle filler = cluster.attach(2)
                .memory()
                .malloc(LmrSpec.of(cluster.node(2).figures().usage().freeBytes() - (1 << 20)));
        long[] filled = atRest(cluster);
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> cluster.attach(0)
                        .memory()
                        .malloc(shared(30 << 20, "big").withPlacement(Placement.spread())))
                .withMessageContaining("node n2 has ")
                .withMessageContaining("bytes free");
        awaitRest(cluster, filled);
        assertThatThrownBy(() -> cluster.attach(0).memory().map("big", Permission.READ))
                .isInstanceOf(LmrNotFoundException.class);
        filler.free();
        cluster.attach(0)
                .memory()
                .malloc(shared(30 << 20, "big").withPlacement(Placement.spread()))
                .free();
        awaitRest(cluster, rest);
    }

    @Test
    default void aFullNodeReportsItsSizes() {
        TestCluster cluster = cluster(1);
        NodeFigures.Usage usage = cluster.node(0).figures().usage();
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> cluster.attach(0).memory().malloc(LmrSpec.of(usage.freeBytes() + 1)))
                .withMessageContaining("node n0 has ")
                .withMessageContaining("bytes free of ");
        assertThatThrownBy(() -> cluster.attach(0).memory().malloc(LmrSpec.of(1L << 40)))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("node n0: ")
                .hasMessageContaining("; its arena has ")
                .hasMessageMatching(".* at least \\d{13} bytes; .*"); // nearly 1 TiB, and in the unit of the arena
        assertThatThrownBy(() -> cluster.attach(0).memory().malloc(LmrSpec.of(Long.MAX_VALUE)))
                .isInstanceOf(LimitExceededException.class);
        assertThatThrownBy(() -> cluster.attach(0)
                        .memory()
                        .malloc(LmrSpec.of(Long.MAX_VALUE).withPlacement(Placement.on("n0"))))
                .isInstanceOf(LimitExceededException.class);
        Waits.until(
                "no memory is being reclaimed",
                () -> cluster.node(0).figures().usage().reclaiming() == 0);
        assertThat(cluster.node(0).figures().usage().allocatedBytes()).isEqualTo(usage.allocatedBytes());
    }

    @Test
    default void theBytesOfAPrincipalAreLimitedPerNode() {
        TestCluster cluster = limited();
        LtMemory alice = cluster.node(0).attach("alice").memory();
        LmrHandle first = alice.malloc(shared(600 << 10, "first"));
        long before = cluster.node(0).figures().usage().allocatedBytes();
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> alice.malloc(LmrSpec.of(500 << 10)))
                .withMessage(
                        "principal \"alice\" has 614400 bytes at node n0; the request needs 512000 more, the limit is 1048576 (lite.node.limits.bytes-per-principal)");
        assertThat(cluster.node(0).figures().usage().allocatedBytes()).isEqualTo(before);
        // Each node and each principal has its own limit.
        LmrHandle there = alice.malloc(shared(500 << 10, "there").withPlacement(Placement.on("n1")));
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> cluster.node(1).attach("alice").memory().malloc(LmrSpec.of(600 << 10)))
                .withMessageContaining("has 512000 bytes at node n1; the request needs 614400 more");
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> there.moveTo("n0"))
                .withMessageContaining("has 614400 bytes at node n0; the request needs 512000 more");
        there.write(0, new byte[500 << 10]);
        cluster.node(0).attach("bob").memory().malloc(LmrSpec.of(1 << 20)).free();
        first.free();
        there.moveTo("n0");
        assertThat(nodesOf(there)).containsExactly("n0");
        Waits.until("there is room again at its old node", () -> mayHave(cluster.node(1), 1 << 20));
    }

    @Test
    default void theEndOfASessionReturnsItsPrincipalsQuotaButARestartOfTheNodeDoesNot() {
        TestCluster cluster = limited();
        Lite lite = cluster.node(0).attach("alice");
        lite.memory().malloc(shared(500 << 10, "kept"));
        lite.memory().malloc(LmrSpec.of(500 << 10));
        assertThat(mayHave(cluster.node(0), 500 << 10)).isFalse();
        lite.close();
        Waits.until("the anonymous LMRs are freed", () -> mayHave(cluster.node(0), 500 << 10));
        cluster.stop("n0");
        cluster.start(limited(cluster, "n0"));
        cluster.awaitConnections();
        Waits.until("the named LMRs count again", () -> !mayHave(cluster.node(0), 600 << 10));
        cluster.node(1).attach("alice").memory().map("kept", Permission.MASTER).free();
        Waits.until("the freed LMR counts no more", () -> mayHave(cluster.node(0), 1 << 20));
    }

    /** Two nodes with a limit of 1 MiB per principal. */
    private TestCluster limited() {
        TestCluster cluster = cluster(0);
        cluster.start(limited(cluster, "n0"));
        cluster.start(limited(cluster, "n1"));
        cluster.awaitConnections();
        return cluster;
    }

    private static LiteNodeConfig limited(TestCluster cluster, String node) {
        return cluster.config(node).toBuilder()
                .limits(LiteNodeConfig.Limits.DEFAULT.withBytesPerPrincipal(1 << 20))
                .build();
    }

    /** Whether alice can allocate this many more bytes at a node; frees them afterwards. */
    private static boolean mayHave(LiteNode node, long bytes) {
        try (Lite lite = node.attach("alice")) {
            lite.memory().malloc(LmrSpec.of(bytes)).free();
            return true;
        } catch (LimitExceededException e) {
            assertThat(e).hasMessageContaining("lite.node.limits.bytes-per-principal");
            return false;
        }
    }
}
