package dev.lite.tier.sync;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;

/** Locks and barriers over TCP: their words are accessed by posts. */
class TcpSyncTest extends SyncContract {
    @Override
    FabricProvider provider() {
        return new TcpFabricProvider();
    }
}
