package dev.lite.tier.rpc;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;

/** Calls over endpoints with a queue depth of two. Most posts find the endpoint busy; no post that waits for room may be forgotten. */
class BusySimulatedRpcTest extends RpcContract {
    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime()))
                    .withQueueDepth(2));

    @Override
    FabricProvider provider() {
        return network.provider();
    }
}
