package dev.lite.tier.peer;

import dev.lite.fabric.FabricEndpoint;
import java.util.UUID;

/** Connections without a network. */
public final class StressPeers {
    private StressPeers() {}

    /** A new connection to node 0. */
    public static Peer connect(FabricEndpoint endpoint) {
        Hello hello = new Hello("c", 0, "n0", 1, new UUID(0, 0), 0, 1);
        return new Peer(hello, 1, endpoint, "none", PollRoleStress.unpolled());
    }
}
