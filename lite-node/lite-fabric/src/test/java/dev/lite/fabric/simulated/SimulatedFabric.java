package dev.lite.fabric.simulated;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * One node of a simulated network. State is guarded by the network's lock; the handler is called without it.
 *
 * <p>The queue of deliveries is bounded: per endpoint by queue-depth completions, queue-depth immediates, and two for the
 * connection itself.
 */
final class SimulatedFabric implements Fabric {
    /** Maximum number of events that one poll executes, so that it ends even if other threads keep posting. */
    private static final int STEPS_PER_POLL = 64;

    final SimulatedNetwork network;
    private final String node;
    private final String address;
    private final byte[] hello;
    private final FabricHandler handler;

    private final Queue<Delivery> deliveries = new ArrayDeque<>();
    private final List<SimulatedEndpoint> endpoints = new ArrayList<>();

    @Nullable
    private FabricMemory memory;

    private boolean closed;
    private boolean woken;
    private boolean armed;

    /** Whether {@link #awaitArmed} must return: there was something to poll since it was armed, or a wakeup. */
    private boolean standbySignaled;

    /** Number of pauses, so that the end of an old pause does not end a newer one. */
    private int pauses;

    private boolean paused;

    SimulatedFabric(SimulatedNetwork network, String address, FabricConfig config, FabricHandler handler) {
        this.network = network;
        this.node = config.node();
        this.address = address;
        this.hello = config.hello();
        this.handler = handler;
    }

    @Override
    public String name() {
        return SimulatedNetwork.NAME;
    }

    @Override
    public String localAddress() {
        return address;
    }

    @Override
    public FabricCapabilities capabilities() {
        return new FabricCapabilities(network.options().operationBytesMax(), false, true, false, 1);
    }

    @Override
    public void register(FabricMemory memory) {
        network.locked(() -> {
            if (this.memory != null || closed) {
                throw new IllegalStateException("node %s: %s"
                        .formatted(node, closed ? "the fabric is closed" : "memory is registered already"));
            }
            this.memory = memory;
            return true;
        });
    }

    @Override
    public FabricEndpoint connect(String address) {
        return network.locked(() -> {
            if (memory == null || closed) {
                throw new IllegalStateException("node %s: %s"
                        .formatted(node, closed ? "the fabric is closed" : "register memory before connecting"));
            }
            SimulatedEndpoint endpoint = newEndpoint(false);
            network.trace(endpoint + " connects to " + address);
            network.connects(this, address);
            // Accepting takes the peer's CPU, so a paused peer answers later.
            network.schedule(network.arrivalNs(), network.at(address), () -> arrive(endpoint, address));
            return endpoint;
        });
    }

    private void arrive(SimulatedEndpoint from, String address) {
        if (from.isClosed()) {
            return;
        }
        SimulatedFabric to = network.at(address);
        if (to == null || to.memory == null) {
            network.schedule(network.arrivalNs(), null, () -> from.shut("nobody listens at " + address));
            return;
        }
        long establishedNs = network.arrivalNs();
        SimulatedEndpoint.join(from, to.newEndpoint(true), establishedNs);
        network.schedule(establishedNs, null, from::established);
    }

    private SimulatedEndpoint newEndpoint(boolean accepted) {
        SimulatedEndpoint endpoint = new SimulatedEndpoint(this, accepted, network.nextEndpointNumber());
        endpoints.add(endpoint);
        return endpoint;
    }

    @Override
    public int poll(int limit) {
        int handedOver = 0;
        int steps = STEPS_PER_POLL;
        while (handedOver < limit) {
            Delivery delivery = network.locked(() -> paused ? null : next());
            if (delivery != null) {
                delivery.to(handler);
                handedOver++;
            } else if (handedOver > 0 || network.options().stepped() || steps-- == 0 || !network.step()) {
                // Stop the clock after a delivery, so that the handler sees the state of that time.
                break;
            }
        }
        return handedOver;
    }

    @Nullable
    private Delivery next() {
        for (Delivery delivery = deliveries.poll(); delivery != null; delivery = deliveries.poll()) {
            if (delivery.endpoint().handOver(delivery)) {
                return delivery;
            }
        }
        return null;
    }

    @Override
    public void await(long timeoutNs) {
        network.await(timeoutNs, () -> {
            if (woken || closed) {
                woken = false;
                return true;
            }
            return !paused && !deliveries.isEmpty();
        });
    }

    @Override
    public boolean arm() {
        return network.locked(() -> {
            armed = true;
            return paused || deliveries.isEmpty();
        });
    }

    @Override
    public void disarm() {
        network.locked(() -> {
            armed = false;
            return true;
        });
    }

    @Override
    public void awaitArmed(long timeoutNs) {
        network.await(timeoutNs, () -> {
            boolean called = standbySignaled || closed || (armed && !paused && !deliveries.isEmpty());
            standbySignaled = false;
            return called;
        });
    }

    @Override
    public void wakeup() {
        network.locked(() -> {
            woken = true;
            standbySignaled = true;
            network.signal();
            return true;
        });
    }

    @Override
    public void close() {
        boolean first = network.locked(() -> {
            if (closed) {
                return false;
            }
            closed = true;
            network.remove(this);
            for (SimulatedEndpoint endpoint : List.copyOf(endpoints)) {
                String reason = "the fabric of node " + node + " is closed";
                endpoint.closeHere(reason);
                endpoint.reportEnd(reason);
            }
            network.signal();
            return true;
        });
        if (!first) {
            return;
        }
        for (Delivery delivery = network.locked(this::next); delivery != null; delivery = network.locked(this::next)) {
            delivery.to(handler);
        }
    }

    /** Under the lock: the process is gone; no handler is called any more. */
    void vanish() {
        if (!closed) {
            closed = true;
            network.remove(this);
            for (SimulatedEndpoint endpoint : List.copyOf(endpoints)) {
                endpoint.closeHere("the process of node " + node + " ended");
            }
        }
    }

    /** Under the lock: queues a handler call for a later poll. */
    void deliver(Delivery delivery) {
        deliveries.add(delivery);
        standbySignaled |= armed;
        network.signal();
    }

    void forget(SimulatedEndpoint endpoint) {
        endpoints.remove(endpoint);
    }

    int pause() {
        paused = true;
        return ++pauses;
    }

    /** Ends the pause with this number, unless it has ended already. */
    boolean resume(int pause) {
        if (!paused || pause != pauses) {
            return false;
        }
        paused = false;
        return true;
    }

    int latestPause() {
        return pauses;
    }

    boolean isPaused() {
        return paused && !closed;
    }

    boolean isClosed() {
        return closed;
    }

    List<SimulatedEndpoint> endpoints() {
        return endpoints;
    }

    String node() {
        return node;
    }

    String address() {
        return address;
    }

    byte[] hello() {
        return hello.clone();
    }

    long memoryBytes() {
        return memory == null ? 0 : memory.segment().byteSize();
    }

    long memoryAddress() {
        if (memory == null) {
            throw new IllegalStateException("node " + node + " has no memory registered");
        }
        return memory.segment().address();
    }

    @Override
    public String toString() {
        return "simulated fabric of node " + node;
    }
}
