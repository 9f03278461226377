package dev.lite.tier.rpc;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;

/** Calls over endpoints that hold two posts: most posts find them busy, and nothing that waits for room may be forgotten. */
class BusySimulatedRpcTest extends RpcContract {
    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime()))
                    .withQueueDepth(2));

    @Override
    FabricProvider provider() {
        return network.provider();
    }
}
