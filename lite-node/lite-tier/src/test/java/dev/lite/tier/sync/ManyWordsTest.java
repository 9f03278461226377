package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtMemory;
import dev.lite.cluster.Order;
import dev.lite.cluster.Orders;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** As many locks and barriers as a node allows, on a node with an arena of 24 MiB and 6,144 extents. */
class ManyWordsTest {
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void aSmallNodeUsesAsManyLocksAndBarriersAsANodeMayAndStillHasExtentsForLmrs() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1)) {
            LiteNode node = cluster.node(0);
            int extentsBefore = node.figures().usage().extents();
            List<HeldLock> held = new ArrayList<>();
            // One principal may have half of them, the next one half of the rest.
            List<String> principals = List.of("one", "one", "two");
            for (int session = 0; session < principals.size(); session++) {
                Lite lite = node.attach(principals.get(session));
                int first = session * SessionSync.NAMES_MAX;
                for (int index = first; index < first + SessionSync.NAMES_MAX; index++) {
                    held.add(lite.sync().lock("order/" + index).acquire(LONG));
                    LtBarrier barrier = lite.sync().barrier("order/" + index, 1);
                    if (index % 64 == 0) {
                        assertThat(barrier.await(LONG)).isZero();
                    }
                }
            }

            assertThat(held).hasSize(SyncService.NAMES_MAX / 4 * 3);
            try (Lite more = node.attach("one")) {
                assertThatExceptionOfType(LimitExceededException.class)
                        .isThrownBy(() -> more.sync().lock("order/one-more"))
                        .withMessageContaining("\"one\" uses 32768");
            }
            assertThat(node.figures().usage().extents() - extentsBefore).isLessThan(200);
            List<LmrHandle> lmrs = new ArrayList<>();
            LtMemory memory = node.attach("app").memory();
            for (int count = 0; count < 2000; count++) {
                lmrs.add(memory.malloc(LmrSpec.of(64)));
            }
            lmrs.forEach(lmr -> assertThat(lmr.fetchAdd(0, 1)).isZero());
            held.forEach(lock -> assertThat(lock.isHeld()).isTrue());
            held.forEach(HeldLock::close);
            try (Lite more = node.attach("one")) { // its other sessions give idle ones up
                more.sync().lock("order/one-more").acquire(LONG).close();
                assertThat(more.sync().barrier("order/one-more", 1).await(LONG)).isZero();
            }
        }
    }

    private static void usesAll(Lite lite, int words, long[] tokens) {
        for (int index = 0; index < words; index++) {
            try (HeldLock held = lite.sync().lock("l" + index).acquire(LONG)) {
                assertThat(held.fencingToken()).isGreaterThan(tokens[index]);
                tokens[index] = held.fencingToken();
            }
        }
    }

    @Test
    void aRestartedNodeFindsItsWordsAndAddsNewOnesToTheirPages() {
        int words = 1500;
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            long[] tokens = new long[words + 100];
            usesAll(cluster.attach(1), words, tokens);
            usesAll(cluster.attach(0), words, tokens);
            long bytes = cluster.node(1).figures().lmrBytes();
            assertThat(bytes).isEqualTo(words * SyncWord.BYTES);

            cluster.stop("n1");
            cluster.start("n1");
            cluster.awaitConnections();

            assertThat(cluster.node(1).figures().lmrBytes()).isEqualTo(bytes);
            int extents = cluster.node(1).figures().usage().extents();
            usesAll(cluster.attach(0), words, tokens);
            usesAll(cluster.attach(1), words + 100, tokens);
            assertThat(cluster.node(1).figures().lmrBytes()).isEqualTo(bytes + 100 * SyncWord.BYTES);
            assertThat(cluster.node(1).figures().usage().extents()).isEqualTo(extents);
        }
    }

    @Test
    void wordsThatMoveToAnotherNodeAndBackShareExtentsThereAndLeaveNone() {
        int words = 60;
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            Orders orders = new Orders(cluster.directory(0));
            int before = cluster.node(0).figures().usage().extents();
            long[] tokens = new long[words];
            usesAll(cluster.attach(1), words, tokens);
            for (int round = 0; round < 2; round++) {
                for (int from = 1; from >= 0; from--) {
                    int there = 1 - from;
                    long order = orders.drain("n" + from, false, LONG).id();
                    Waits.until("the node is empty", () -> isDone(orders, order));

                    assertThat(cluster.node(from).figures().lmrBytes()).isZero();
                    assertThat(cluster.node(there).figures().lmrBytes()).isEqualTo(words * SyncWord.BYTES);
                    assertThat(cluster.node(there).figures().usage().extents()).isLessThanOrEqualTo(before + 1);
                    usesAll(cluster.attach(0), words, tokens);
                    usesAll(cluster.attach(1), words, tokens);
                    orders.undrain("n" + from, LONG);
                    LiteNode drained = cluster.node(from);
                    Waits.until("it takes memory again", () -> !drained.isDraining());
                }
            }
        }
    }

    private static boolean isDone(Orders orders, long order) {
        Order.State state = orders.find(order, LONG).orElseThrow().state();
        assertThat(state).isNotEqualTo(Order.State.FAILED);
        return state == Order.State.DONE;
    }
}
