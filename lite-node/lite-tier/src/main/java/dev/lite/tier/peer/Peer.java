package dev.lite.tier.peer;

import dev.lite.fabric.FabricEndpoint;

/**
 * A connected node.
 *
 * @param hello what it said of itself
 * @param endpoint the connection
 * @param fabric the name of the driver that carries it
 */
public record Peer(Hello hello, FabricEndpoint endpoint, String fabric) {
    /** The node's number. */
    public int id() {
        return hello.nodeId();
    }
}
