package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.local.LocalCluster;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Three nodes, real processes, that are connected only by TCP. */
@ExtendWith(SharedClusters.Resolver.class)
class TcpClusterTest {
    private static final long SEED = System.nanoTime();

    private SharedClusters.Borrowed borrowed;
    private LocalCluster cluster;

    @BeforeEach
    void borrow(SharedClusters clusters) {
        System.out.println("seed " + SEED);
        borrowed = clusters.borrow("tcp");
        cluster = borrowed.cluster();
    }

    @AfterEach
    void returnCluster() {
        borrowed.close();
    }

    @Test
    void anLmrSpreadOverThreeNodesIsAccessibleOverTcp() {
        try (Lite writer = Clusters.attach(cluster, 1);
                Lite reader = Clusters.attach(cluster, 2)) {
            TcpWorkload.run(writer, reader, "tcp/spread", SEED);
            assertThat(writer.nodes()).extracting(NodeInfo::fabric).containsExactlyInAnyOrder("local", "tcp", "tcp");
        }
    }

    @Test
    void aKilledNodeIsReachableOverTcpAfterItsRestart() {
        try (Lite lite = Clusters.attach(cluster, 1)) {
            LmrHandle handle = lite.memory()
                    .malloc(
                            LmrSpec.of(1 << 20)
                                    .withName("tcp/killed")
                                    .withPlacement(Placement.on("node-3"))
                                    .withDefaultPermissions(Permission.READ),
                            Duration.ofSeconds(20));
            assertThat(handle.extents()).extracting(Extent::node).containsOnly("node-3");
            assertThat(handle.fetchAdd(8, 42)).isZero();

            cluster.kill(3);
            cluster.startNode(3);

            assertThat(handle.fetchAdd(8, 1)).isEqualTo(42);
            handle.free();
        }
    }
}
