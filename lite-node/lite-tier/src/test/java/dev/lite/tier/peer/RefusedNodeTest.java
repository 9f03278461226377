package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import dev.lite.tier.testing.WatchedDriver;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node that was removed, does not know it, and reaches its peers. */
class RefusedNodeTest {
    private static final int PEERS = 4;
    private static final long RETRY_NS = 500_000_000; // as in PeerLinks

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void aRemovedNodeTriesEachPeerOncePerInterval() {
        AtomicInteger made = new AtomicInteger();
        WatchedDriver counting = new WatchedDriver(new TcpFabricProvider(), (node, accepted, report) -> {
            if (!accepted) {
                made.incrementAndGet();
            }
            report.run();
        });
        try (TestCluster cluster = new TestCluster(root, counting).start(PEERS + 1)) {
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
