package dev.lite.tier.peer;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;

/** What fabrics share that have events, but neither connections nor memory. */
abstract class UnconnectedFabric implements Fabric {
    @Override
    public final String localAddress() {
        return "";
    }

    @Override
    public final FabricCapabilities capabilities() {
        throw new UnsupportedOperationException();
    }

    @Override
    public final void register(FabricMemory memory) {
        throw new UnsupportedOperationException();
    }

    @Override
    public final FabricEndpoint connect(String address) {
        throw new UnsupportedOperationException();
    }
}
