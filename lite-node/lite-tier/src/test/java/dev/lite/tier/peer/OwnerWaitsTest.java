package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class OwnerWaitsTest {
    private static final NodeRecord NODE = new NodeRecord("n1", 1, 1, "host", 1 << 20, Map.of(), 1);

    private final PeerTable peers = new PeerTable("n0", 4);
    private final Absences absences = new Absences();

    @Test
    void aNodeThatLeavesDuringTheWaitIsWaitedForAsLongAsItMayReturn() {
        peers.noteName(1, "n1");
        absences.setGrace(Duration.ofMillis(100));
        absences.setLive(List.of(NODE));
        AtomicInteger asked = new AtomicInteger();
        OwnerWaits waits = new OwnerWaits(peers, absences, node -> {
            boolean live = asked.getAndIncrement() < 2;
            if (!live) {
                absences.setLive(List.of());
            }
            return live;
        });
        Deadline deadline = Deadline.in(Waits.seconds(60));
        assertThatExceptionOfType(LmrUnavailableException.class)
                .isThrownBy(() -> waits.await(1, null, deadline))
                .withMessageContaining("node n1 is lost")
                .withMessageContaining("it left the cluster");
        assertThat(deadline.passed()).isFalse();
    }

    /** For example a copy for a node that has died meanwhile: the end of its moves waits for it. */
    @Test
    void nobodyWaitsForALiveNodeWhoseMemoryIsNotWantedAnyMore() {
        peers.noteName(1, "n1");
        absences.setLive(List.of(NODE));
        OwnerWaits waits = new OwnerWaits(peers, absences, node -> true);
        Deadline deadline = Deadline.in(Waits.seconds(60));
        assertThatExceptionOfType(LmrUnavailableException.class)
                .isThrownBy(() -> waits.await(1, () -> "its copy is not wanted", deadline))
                .withMessageContaining("its copy is not wanted");
        assertThat(deadline.passed()).isFalse();
    }

    @Test
    void aNodeThatIsLiveIsWaitedForUntilTheDeadline() {
        peers.noteName(1, "n1");
        absences.setGrace(Duration.ofMillis(1));
        absences.setLive(List.of(NODE));
        OwnerWaits waits = new OwnerWaits(peers, absences, node -> true);
        Deadline deadline = Deadline.in(Duration.ofMillis(500));
        assertThatExceptionOfType(LiteTimeoutException.class)
                .isThrownBy(() -> waits.await(1, null, deadline))
                .withMessageContaining("memory on node n1");
        assertThat(deadline.passed()).isTrue();
    }
}
