package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node loses its registration while another node that does not answer carries out an operation for it. */
class RejoinDuringMemsetTest {
    private static final int BYTES = 4096;

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    @Test
    void aNodeRegistersAgainAlthoughAnotherNodeHasNotAnsweredItsMemset() {
        try (TestCluster cluster = new TestCluster(root, network.provider())) {
            cluster.start("n0");
            LiteNode node = cluster.start(cluster.withDeadline("n1", Waits.seconds(2)));
            cluster.awaitConnections();
            Lite lite = node.attach("app");
            LmrHandle lmr = lite.memory().malloc(LmrSpec.of(BYTES).withPlacement(Placement.on("n0")));
            network.pause("n0");
            try {
                assertThatThrownBy(() -> lmr.memset(0, BYTES, (byte) 1))
                        .as(network.toString())
                        .isInstanceOf(LiteTimeoutException.class);

                cluster.directory(1).expireSession();

                Waits.until(
                        "node n1 is registered again; " + network,
                        () -> cluster.directory(0).nodes().stream()
                                .anyMatch(live -> live.name().equals("n1") && live.incarnation() == 2));
            } finally {
                network.resume("n0");
            }
            cluster.awaitConnections();
            lmr.memset(0, BYTES, (byte) 2);
        }
    }
}
