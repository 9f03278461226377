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
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node that was removed, does not know it, and reaches its peers. */
class RefusedNodeTest {
    private static final int PEERS = 4;
    private static final long RETRY_NS = 500_000_000; // as in PeerLinks

    @TempDir(factory = InDevShm.class)
    Path root;

    /** Counts the connections that nodes make, refused or not. */
    private record Counting(FabricProvider driver, AtomicInteger made) implements FabricProvider {
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
                    if (!accepted) {
                        made.incrementAndGet();
                    }
                    handler.connected(endpoint, accepted);
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

    @Test
    void aRemovedNodeTriesEachPeerOncePerInterval() {
        AtomicInteger made = new AtomicInteger();
        try (TestCluster cluster =
                new TestCluster(root, new Counting(new TcpFabricProvider(), made)).start(PEERS + 1)) {
            cluster.directory(PEERS).setAvailable(false);
            cluster.directory(PEERS).expireSession();
            Waits.until("the node is fenced", () -> cluster.directory(0).epoch().isFenced(PEERS, 1));
            int before = made.get();
            long beforeNs = System.nanoTime();

            Waits.pass(Duration.ofSeconds(2));

            long intervals = (System.nanoTime() - beforeNs) / RETRY_NS;
            assertThat(made.get() - before).isLessThanOrEqualTo(PEERS * ((int) intervals + 2));
        }
    }
}
