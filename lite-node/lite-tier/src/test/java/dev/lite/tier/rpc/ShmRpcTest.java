package dev.lite.tier.rpc;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;

/** Calls over shared memory, as on one machine. */
class ShmRpcTest extends RpcContract {
    @Override
    FabricProvider provider() {
        return new ShmFabricProvider();
    }
}
