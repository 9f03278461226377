package dev.lite.tier.node;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;

/** A node over the simulated network: nothing is mapped, everything is posted, delayed and reordered. */
class SimulatedLiteNodeTest extends LiteNodeContract {
    private final SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(System.nanoTime()));

    @Override
    FabricProvider provider() {
        return network.provider();
    }
}
