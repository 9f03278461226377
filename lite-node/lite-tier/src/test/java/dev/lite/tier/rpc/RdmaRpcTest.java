package dev.lite.tier.rpc;

import dev.lite.fabric.FabricProvider;
import dev.lite.tier.testing.NamedFabric;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Calls over RDMA, if there is a device. */
@EnabledIfSystemProperty(
        named = NamedFabric.PROPERTY,
        matches = "(.*,)?rdma(,.*)?",
        disabledReason = "it needs a device, and runs where lite.test.fabrics names rdma")
class RdmaRpcTest extends RpcContract {
    @Override
    FabricProvider provider() {
        return NamedFabric.load("rdma");
    }
}
