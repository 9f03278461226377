package dev.lite.tier.rpc;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;

/** Calls over TCP. */
class TcpRpcTest extends RpcContract {
    @Override
    FabricProvider provider() {
        return new TcpFabricProvider();
    }
}
