package dev.lite.tier.node;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;

/** A node over shared memory. */
class ShmLiteNodeTest extends LiteNodeContract {
    @Override
    FabricProvider provider() {
        return new ShmFabricProvider();
    }
}
