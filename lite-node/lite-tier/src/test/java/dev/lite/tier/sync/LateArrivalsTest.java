package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtBarrier;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Messages of a barrier's parties that come late: a home that was busy handles them in any order. */
class LateArrivalsTest {
    private static final long PARTY = 77;

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void aPartyThatHasGivenUpIsNotCountedWhenItsArrivalComesAfterItsLeave() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            Lite other = cluster.attach(0);
            LtBarrier barrier = other.sync().barrier("b", 2); // its home is n0
            SyncService home = Inside.field(cluster.node(0), "sync", SyncService.class);
            WordRef word = Inside.field(barrier, "barrier", BarrierUser.class)
                    .barrier()
                    .word()
                    .ref();

            SyncCalls.BarrierStatus left = home.leave(word, 0, PARTY, "a party gave up");
            assertThat(left.stage()).isEqualTo(SyncCalls.Stage.OTHER_ROUND);
            SyncCalls.BarrierStatus late = home.arrive(1, word, 0, 2, PARTY);

            assertThatThrownBy(() -> barrier.await(Waits.seconds(1)))
                    .as("only one party has arrived")
                    .isInstanceOf(LiteTimeoutException.class);
            assertThat(late.stage()).isEqualTo(SyncCalls.Stage.BROKEN);
        }
    }
}
