package dev.lite.tier.operator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.cluster.Order;
import dev.lite.cluster.Order.State;
import dev.lite.cluster.Orders;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.node.NodeFigures;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** LMRs are spread again over nodes that were added or restarted. */
class RebalanceTest {
    private static final int SIZE = 1 << 20;
    private static final int LMRS = 10;
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    private final long seed = Long.getLong("lite.test.seed", System.nanoTime());

    private byte[] content(int salt) {
        byte[] bytes = new byte[SIZE];
        new Random(seed + salt).nextBytes(bytes);
        return bytes;
    }

    @Test
    void anAddedNodeGetsItsShare() {
        System.out.println("seed " + seed);
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(seed));
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            Lite lite = cluster.attach(0);
            List<LmrHandle> made = new ArrayList<>();
            for (int index = 0; index < LMRS; index++) {
                Placement where = index < LMRS - 1 ? Placement.on("n0") : Placement.spread();
                made.add(lite.memory()
                        .malloc(LmrSpec.of(SIZE).withName("lmr " + index).withPlacement(where)));
                made.get(index).write(0, content(index));
            }
            cluster.start("n2");
            cluster.awaitConnections();
            Orders orders = new Orders(cluster.directory(0));

            Order order = rebalance(orders);

            assertThat(order.state()).isEqualTo(State.DONE);
            assertThat(order.done()).isBetween(3L, (long) LMRS);
            assertThat(spread(cluster)).isLessThan(Rebalance.SPREAD_PERCENT_MAX / 100.0);
            for (int index = 0; index < LMRS; index++) {
                byte[] bytes = new byte[SIZE];
                made.get(index).read(0, bytes);
                assertThat(Arrays.equals(bytes, content(index))).isTrue();
            }
            List<List<Extent>> places = made.stream().map(LmrHandle::extents).toList();
            assertThat(rebalance(orders).done()).isZero();
            assertThat(made.stream().map(LmrHandle::extents)).isEqualTo(places);
        }
    }

    @Test
    void anLmrWhoseSharesADrainMergedIsSpreadAgain() {
        System.out.println("seed " + seed);
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(seed));
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            Orders orders = new Orders(cluster.directory(0));
            LmrHandle made = cluster.attach(0)
                    .memory()
                    .malloc(LmrSpec.of(SIZE).withName("spread").withPlacement(Placement.spread()));
            made.write(0, content(0));
            for (String drained : List.of("n1", "n2")) {
                awaitEnd(orders, orders.drain(drained, false, LONG));
            }
            assertThat(made.extents()).extracting(Extent::node).containsOnly("n0");
            for (String drained : List.of("n1", "n2")) {
                orders.undrain(drained, LONG);
            }
            Waits.until(
                    "the nodes are used again",
                    () -> !cluster.node(1).isDraining() && !cluster.node(2).isDraining());

            Order order = awaitEnd(orders, orders.rebalance(LONG));

            assertThat(order.state()).isEqualTo(State.DONE);
            assertThat(order.done()).isEqualTo(2);
            assertThat(made.extents()).extracting(Extent::node).contains("n0", "n1", "n2");
            byte[] bytes = new byte[SIZE];
            made.read(0, bytes);
            assertThat(Arrays.equals(bytes, content(0))).isTrue();
            assertThat(rebalance(orders).done()).isZero();
        }
    }

    @Test
    void aRecordThatCannotBeReadDoesNotKeepOtherLmrsFromMoving() {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(seed));
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            for (int index = 0; index < LMRS; index++) {
                cluster.attach(0)
                        .memory()
                        .malloc(LmrSpec.of(SIZE).withName("lmr " + index).withPlacement(Placement.on("n0")));
            }
            assertThat(cluster.directory(0).create("damaged", new byte[] {1, 2, 3}, LONG))
                    .isTrue();

            Order order = rebalance(new Orders(cluster.directory(1)));

            assertThat(order.state()).as(order.note()).isEqualTo(State.DONE);
            assertThat(order.done()).isPositive();
        }
    }

    @Test
    void anLmrThatIsTooLargeToImproveTheBalanceStays() {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(seed));
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            LmrHandle made = cluster.attach(0)
                    .memory()
                    .malloc(LmrSpec.of(8 * SIZE).withName("large").withPlacement(Placement.on("n0")));

            Order order = rebalance(new Orders(cluster.directory(1)));

            assertThat(order.state()).isEqualTo(State.DONE);
            assertThat(order.done()).isZero();
            assertThat(made.extents()).extracting(Extent::node).containsOnly("n0");
        }
    }

    private static double spread(TestCluster cluster) {
        double least = 1;
        double most = 0;
        for (int each = 0; each < 3; each++) { // any of them may have executed the order
            int node = each;
            Waits.until(
                    "the old memory is free",
                    () -> cluster.node(node).figures().usage().reclaiming() == 0);
        }
        for (int node = 0; node < 3; node++) {
            NodeFigures.Usage usage = cluster.node(node).figures().usage();
            double used = (double) usage.allocatedBytes() / (usage.allocatedBytes() + usage.freeBytes());
            least = Math.min(least, used);
            most = Math.max(most, used);
        }
        return most - least;
    }

    private static Order rebalance(Orders orders) {
        return awaitEnd(orders, orders.rebalance(LONG));
    }

    private static Order awaitEnd(Orders orders, Order order) {
        long id = order.id();
        Waits.until(
                "the order ends",
                () -> orders.find(id, LONG).orElseThrow().state().isFinal());
        return orders.find(id, LONG).orElseThrow();
    }
}
