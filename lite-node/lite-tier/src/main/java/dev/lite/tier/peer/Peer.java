package dev.lite.tier.peer;

import dev.lite.fabric.FabricEndpoint;

/** A connected node. A new connection to the same node is another object: compared by identity. Immutable. */
public final class Peer {
    private final Hello hello;
    private final FabricEndpoint endpoint;
    private final String fabric;

    Peer(Hello hello, FabricEndpoint endpoint, String fabric) {
        this.hello = hello;
        this.endpoint = endpoint;
        this.fabric = fabric;
    }

    /** The node's number. */
    public int id() {
        return hello.nodeId();
    }

    /** What it said of itself. */
    public Hello hello() {
        return hello;
    }

    /** The connection. */
    public FabricEndpoint endpoint() {
        return endpoint;
    }

    /** The name of the driver that carries it. */
    public String fabric() {
        return fabric;
    }
}
