package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.Optional;
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

    /** The accepting node's poll thread stands still before the node decides about a connection. */
    private final class Undecided implements FabricProvider {
        private final FabricProvider driver = new TcpFabricProvider();

        @Override
        public String name() {
            return driver.name();
        }

        @Override
        public Optional<String> unavailable() {
            return driver.unavailable();
        }

        @Override
        public Fabric open(FabricConfig config, FabricHandler handler) {
            return driver.open(config, new FabricHandler() {
                @Override
                public void connected(FabricEndpoint endpoint, boolean accepted) {
                    if (config.node().equals(ACCEPTING)) {
                        Waits.until("the test lets the node decide", () -> decide.getCount() == 0);
                    }
                    handler.connected(endpoint, accepted);
                    if (!config.node().equals(ACCEPTING)) {
                        connectorIsConnected.countDown();
                    }
                }

                @Override
                public void disconnected(FabricEndpoint endpoint, String reason) {
                    handler.disconnected(endpoint, reason);
                }

                @Override
                public void immediate(FabricEndpoint endpoint, int immediate) {
                    handler.immediate(endpoint, immediate);
                }

                @Override
                public void completed(FabricEndpoint endpoint, long context) {
                    handler.completed(endpoint, context);
                }

                @Override
                public void failed(FabricEndpoint endpoint, long context, FabricError error) {
                    handler.failed(endpoint, context, error);
                }
            });
        }
    }

    /** The other node may be about to refuse: it knows that this process was removed, and this process does not. */
    @Test
    void aNodeDoesNotUseAConnectionThatTheOtherNodeHasNotAdmitted() {
        try (TestCluster cluster = new TestCluster(root, new Undecided())) {
            cluster.start(ACCEPTING);
            var connecting = cluster.start("n1");
            Waits.until("the connecting node is told of its connection", () -> connectorIsConnected.getCount() == 0);

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
