package dev.lite.tier.sync;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;

/** Locks and barriers over shared memory: their words are mapped. */
class ShmSyncTest extends SyncContract {
    @Override
    FabricProvider provider() {
        return new ShmFabricProvider();
    }
}
