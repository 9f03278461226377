package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import dev.lite.tier.testing.WatchedDriver;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node uses a connection only when both ends have admitted it. */
class AdmissionTest {
    private static final String ACCEPTING = "n0";

    @TempDir(factory = InDevShm.class)
    Path root;

    private final CountDownLatch connectorIsConnected = new CountDownLatch(1);
    private final CountDownLatch decide = new CountDownLatch(1);

    /** The accepting node's poll thread is paused before the node admits or rejects a connection. */
    private void connected(String node, boolean accepted, Runnable report) {
        if (node.equals(ACCEPTING)) {
            Waits.until("the test lets the node decide", () -> decide.getCount() == 0);
        }
        report.run();
        if (!node.equals(ACCEPTING)) {
            connectorIsConnected.countDown();
        }
    }

    /** The other node may be about to refuse: it knows that this process was removed, and this process does not. */
    @Test
    void aNodeDoesNotUseAConnectionThatTheOtherNodeHasNotAdmitted() {
        try (TestCluster cluster = new TestCluster(root, new WatchedDriver(new TcpFabricProvider(), this::connected))) {
            cluster.start(ACCEPTING);
            var connecting = cluster.start("n1");
            Waits.until(
                    "the connecting node's handler has got its connection", () -> connectorIsConnected.getCount() == 0);

            assertThat(connecting.nodes())
                    .noneMatch(peer ->
                            peer.name().equals(ACCEPTING) && !peer.fabric().equals("none"));

            decide.countDown();
            cluster.awaitConnections();
        } finally {
            decide.countDown();
        }
    }
}
