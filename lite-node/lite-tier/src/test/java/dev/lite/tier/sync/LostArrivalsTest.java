package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.BarrierBrokenException;
import dev.lite.api.LtBarrier;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The answer to a party's arrival at a barrier is lost. */
class LostArrivalsTest {
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    private static NodeBarrier here(LtBarrier barrier) {
        return Inside.field(barrier, "barrier", BarrierUser.class).barrier();
    }

    private static SyncService sync(TestCluster cluster, int node) {
        return Inside.field(cluster.node(node), "sync", SyncService.class);
    }

    /** The parties that wait at the barrier, of one node. */
    private static List<Long> parties(LtBarrier barrier) {
        NodeBarrier here = here(barrier);
        synchronized (here) {
            Map<?, ?> parties = Inside.field(here, "here", Map.class);
            return parties.keySet().stream().map(Long.class::cast).toList();
        }
    }

    /** Else the others pass the next round before the party has done its part for it. */
    @Test
    void aPartyWhoseRoundMayHavePassedAtAHomeThatWasRestartedDoesNotWaitForTheNextRound() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(4)) {
            LtBarrier atHome = cluster.attach(0).sync().barrier("b", 2);
            LtBarrier one = cluster.attach(1).sync().barrier("b", 2);
            LtBarrier other = cluster.attach(2).sync().barrier("b", 2);
            WordRef word = here(atHome).word().ref();
            SyncContract.Task<Long> first = SyncContract.go(() -> one.await(LONG));
            first.awaitParkedAt(NodeBarrier.class); // it is counted
            network.pause("n2");
            SyncContract.Task<Long> second = SyncContract.go(() -> other.await(LONG));
            second.awaitParked(); // it has sent its arrival

            // The arrival comes, and its answer is lost with the home.
            SyncCalls.BarrierStatus passed =
                    sync(cluster, 0).arrive(2, word, 0, 2, parties(other).getFirst());
            assertThat(passed.stage()).isEqualTo(SyncCalls.Stage.PASSED);
            assertThat(SyncContract.get(first)).isZero();
            cluster.stop("n0");
            cluster.start("n0");
            SyncContract.Task<Long> next = SyncContract.go(() -> one.await(LONG));
            network.resume("n2");

            assertThatThrownBy(() -> SyncContract.get(second)).isInstanceOf(BarrierBrokenException.class);
            LtBarrier ofAnother = cluster.attach(3).sync().barrier("b", 2);
            assertThat(ofAnother.await(LONG)).isEqualTo(1);
            assertThat(SyncContract.get(next)).isEqualTo(1);
        }
    }

    /** Else a home that has forgotten that old round, and whose answer is lost, seems to have been restarted. */
    @Test
    void aNodeThatOpensABarrierArrivesForTheOpenRound() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            LtBarrier atHome = cluster.attach(0).sync().barrier("b", 2);
            LtBarrier one = cluster.attach(1).sync().barrier("b", 2);
            for (long round = 0; round < 3; round++) {
                SyncContract.Task<Long> first = SyncContract.go(() -> one.await(LONG));
                assertThat(atHome.await(LONG)).isEqualTo(round);
                assertThat(SyncContract.get(first)).isEqualTo(round);
            }
            LtBarrier late = cluster.attach(2).sync().barrier("b", 2);
            assertThat(Inside.field(here(late), "round", Long.class)).isEqualTo(3);
        }
    }

    @Test
    void aHomeThatAWordLeavesAnswersThatItHasNotCountedAParty() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(1)) {
            LtBarrier barrier = cluster.attach(0).sync().barrier("b", 2);
            WordRef word = here(barrier).word().ref();
            sync(cluster, 0).leaveHome(word);

            assertThat(sync(cluster, 0).arrive(1, word, 0, 2, 77).stage()).isEqualTo(SyncCalls.Stage.LEAVES);
        }
    }
}
