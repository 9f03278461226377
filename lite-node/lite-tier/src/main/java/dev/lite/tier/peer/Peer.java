package dev.lite.tier.peer;

import dev.lite.fabric.FabricEndpoint;

/** A connected node. A new connection to the same node is another object: compared by identity. Immutable. */
public final class Peer {
    private final Hello hello;
    private final FabricEndpoint endpoint;
    private final String fabric;
    private final PollRole pollRole;
    private final long incarnation;

    Peer(Hello hello, long incarnation, FabricEndpoint endpoint, String fabric, PollRole pollRole) {
        this.incarnation = incarnation;
        this.pollRole = pollRole;
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

    /** The registration that its process had when it connected, as far as it was known; else 0. */
    public long incarnation() {
        return incarnation;
    }

    /** The connection. */
    public FabricEndpoint endpoint() {
        return endpoint;
    }

    /** The name of the driver that carries it. */
    public String fabric() {
        return fabric;
    }

    /** The poll role of that driver: where to wait for what this peer sends. */
    public PollRole pollRole() {
        return pollRole;
    }
}
