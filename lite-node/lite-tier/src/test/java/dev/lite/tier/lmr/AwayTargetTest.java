package dev.lite.tier.lmr;

import static dev.lite.tier.lmr.LateWorkTest.BYTES;
import static dev.lite.tier.lmr.LateWorkTest.LONG;
import static dev.lite.tier.lmr.LateWorkTest.on;
import static dev.lite.tier.lmr.LateWorkTest.part;
import static dev.lite.tier.lmr.LateWorkTest.running;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LmrUnavailableException;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.control.ControlMessage;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Copies from n1 to n2, for n0, while n2 has left the cluster. They wait at n0. */
class AwayTargetTest {
    private final SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(1));

    @SuppressWarnings("NullAway.Init") // by start
    private TestCluster cluster;

    @SuppressWarnings("NullAway.Init") // by start
    private Mapping source;

    @SuppressWarnings("NullAway.Init") // by start
    private Mapping target;

    /** At n1. */
    @SuppressWarnings("NullAway.Init") // by start
    private Mapping other;

    @BeforeEach
    void start(@TempDir(factory = InDevShm.class) Path root) {
        cluster = new TestCluster(root, network.provider()).start(3);
        TierSession session = cluster.node(0).open("app", "test");
        source = on("n1", session);
        target = on("n2", session);
        other = on("n1", session);
    }

    @AfterEach
    void stop() {
        for (int node = 0; node < 3; node++) {
            cluster.directory(node).setAvailable(true);
        }
        cluster.close();
    }

    /** A node loses its registration, and returns when its directory is available again. */
    private void leave(int node) {
        cluster.directory(node).setAvailable(false);
        cluster.directory(node).expireSession();
        for (int another : node == 0 ? List.of(1) : List.of(0, 1)) {
            PeerLinks links = links(another);
            Waits.until("the node is away", () -> !links.isLive(node) && links.peer(node) == null);
        }
    }

    private PeerLinks links(int node) {
        return Inside.field(cluster.node(node), "links", PeerLinks.class);
    }

    private CompletableFuture<?> copy() {
        return Inside.field(cluster.node(0), "lmrs", LmrServices.class)
                .remoteWork()
                .copy(part(1, source), part(2, target), BYTES, Deadline.in(Duration.ofHours(1)));
    }

    @Test
    void aCopyThatWaitsForANodeThatLeftTheClusterDelaysNoOtherWorkOfItsTwoNodes() {
        source.memset(0, BYTES, (byte) 1);
        leave(2);

        CompletableFuture<?> copy = copy();
        other.memset(0, BYTES, (byte) 2);
        assertThat(copy).isNotDone();

        cluster.directory(2).setAvailable(true);
        assertThat(copy).succeedsWithin(LONG);
        byte[] data = new byte[BYTES];
        target.read(0, data);
        assertThat(data).containsOnly(1);
    }

    @Test
    void aCopyUnderWayGivesItsSlotBackWhenItsTargetLeavesTheCluster() {
        network.pause("n2");
        network.drop("n1", "n2");
        Waits.until("the connection is gone", () -> links(1).peer(2) == null);
        CompletableFuture<?> copy = copy();
        Waits.until("it waits at n1", () -> running(cluster.node(1)) == 1);

        network.resume("n2");
        leave(2);

        other.memset(0, BYTES, (byte) 2);
        assertThat(copy).isNotDone();
        cluster.directory(2).setAvailable(true);
        assertThat(copy).succeedsWithin(LONG);
    }

    @Test
    void aCopyThatWaitsForANodeThatLeftTheClusterEndsAtTheEndOfTheGraceTime() {
        cluster.node(0).setReturnGrace(Duration.ofSeconds(1));
        cluster.node(1).setReturnGrace(Duration.ofSeconds(1));
        leave(2);

        assertThat(copy())
                .failsWithin(LONG)
                .withThrowableThat()
                .withCauseInstanceOf(LmrUnavailableException.class)
                .withMessageContaining("node n2 is lost");
    }

    /** It does not wait itself, so the node that copies does. */
    @Test
    void aCopyForACallerOfAnEarlierVersionWaitsForItsTarget() {
        leave(2);
        ControlMessage request = new ControlMessage()
                .putPart(part(1, source))
                .putPart(part(2, target))
                .putLong(BYTES)
                .putDeadline(Deadline.in(LONG));

        CompletableFuture<byte[]> reply = Inside.field(cluster.node(0), "channel", ControlChannel.class)
                .begin(1, ControlKind.COPY, request, Deadline.in(LONG));
        Waits.until("it waits at n1", () -> running(cluster.node(1)) == 1);
        cluster.directory(2).setAvailable(true);

        assertThat(reply).succeedsWithin(LONG).isEqualTo(new byte[0]);
    }

    @Test
    void aCopyThatWaitsForANodeThatLeftTheClusterEndsWithTheRegistrationOfItsCaller() {
        leave(2);
        CompletableFuture<?> copy = copy();
        other.memset(0, BYTES, (byte) 2); // after n1's answer to the copy: work on bytes has one slot

        leave(0);
        cluster.directory(0).setAvailable(true); // else n0 does not learn of it

        assertThat(copy).failsWithin(LONG).withThrowableOfType(ExecutionException.class);
    }
}
