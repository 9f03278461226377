package dev.lite.tier.peer;

import dev.lite.fabric.FabricEndpoint;

/** A connected node. Each new connection to a node is a new object; compare by identity. */
public final class Peer {
    private final Hello hello;
    private final FabricEndpoint endpoint;
    private final String fabric;
    private final PollRole pollRole;
    private final long incarnation;

    /** Whether the node has admitted this connection. Only the thread that holds the poll role uses it. */
    private boolean admitted;

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

    /** The hello that the node sent. */
    public Hello hello() {
        return hello;
    }

    /** The registration of its process when it connected; 0 if it was unknown. */
    public long incarnation() {
        return incarnation;
    }

    /** Whether the node has admitted this connection; only for the thread that holds the poll role. */
    boolean hasAdmitted() {
        return admitted;
    }

    /** The node has admitted this connection. */
    void setAdmitted() {
        admitted = true;
    }

    /** The connection. */
    public FabricEndpoint endpoint() {
        return endpoint;
    }

    /** The name of the connection's driver. */
    public String fabric() {
        return fabric;
    }

    /** The poll role of that driver; use it to wait for this peer. */
    public PollRole pollRole() {
        return pollRole;
    }
}
