package dev.lite.tier.peer;

import dev.lite.fabric.FabricEndpoint;
import java.util.UUID;

/** Connections without a network, for tests of what is kept for each connection. */
public final class TestPeers {
    private TestPeers() {}

    /** A new connection to a node. */
    public static Peer connect(int node, FabricEndpoint endpoint) {
        Hello hello = new Hello("c", node, "n" + node, 1, new UUID(0, node), 0, 64);
        return new Peer(hello, 1, endpoint, "none", new PollRole(new SilentFabric(), 0));
    }

    /** No event ever comes. */
    private static final class SilentFabric extends UnconnectedFabric {
        @Override
        public int poll(int limit) {
            return 0;
        }

        @Override
        public boolean arm() {
            return true;
        }

        @Override
        public void disarm() {}

        @Override
        public void await(long timeoutNs) {}

        @Override
        public void awaitArmed(long timeoutNs) {}

        @Override
        public void wakeup() {}

        @Override
        public void close() {}

        @Override
        public String name() {
            return "silent";
        }
    }
}
