package dev.lite.tier.node;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;

/** A node over TCP: nothing is mapped, everything is posted to real sockets. */
class TcpLiteNodeTest extends LiteNodeContract {
    @Override
    FabricProvider provider() {
        return new TcpFabricProvider();
    }
}
