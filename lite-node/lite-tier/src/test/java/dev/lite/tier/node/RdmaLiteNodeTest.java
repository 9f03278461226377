package dev.lite.tier.node;

import dev.lite.fabric.FabricProvider;
import dev.lite.tier.testing.NamedFabric;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;

/** A node over RDMA, where there is a device. */
class RdmaLiteNodeTest extends LiteNodeContract {
    @BeforeAll
    static void needADevice() {
        Assumptions.assumeTrue(NamedFabric.isWanted("rdma", false), () -> NamedFabric.PROPERTY + " does not name rdma");
    }

    @Override
    FabricProvider provider() {
        return NamedFabric.load("rdma");
    }
}
