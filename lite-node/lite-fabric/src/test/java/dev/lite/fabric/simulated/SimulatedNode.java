package dev.lite.fabric.simulated;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A fabric that records its events, for tests of the network itself. One thread. */
final class SimulatedNode implements FabricHandler {
    static final long MEMORY_BYTES = 4096;

    final Fabric fabric;
    final MemorySegment memory;
    final List<String> events = new ArrayList<>();

    /** Contexts of completions and failures, in order of arrival. */
    final List<Long> ended = new ArrayList<>();

    final List<FabricEndpoint> connected = new ArrayList<>();
    int disconnected;

    SimulatedNode(SimulatedNetwork network, String name, Arena arena) {
        memory = arena.allocate(MEMORY_BYTES, Long.BYTES);
        fabric = network.provider().open(new FabricConfig(name, new byte[0], Path.of("/"), Map.of()), this);
        fabric.register(new FabricMemory(memory, FabricMemory.NO_DESCRIPTOR));
    }

    /** The address of the word at an offset. */
    long at(long offset) {
        return memory.address() + offset;
    }

    long word(long offset) {
        return memory.get(JAVA_LONG, offset);
    }

    void word(long offset, long value) {
        memory.set(JAVA_LONG, offset, value);
    }

    FabricEndpoint connect(SimulatedNode other) {
        return fabric.connect(other.fabric.localAddress());
    }

    boolean isConnected(FabricEndpoint endpoint) {
        return connected.contains(endpoint);
    }

    @Override
    public void completed(FabricEndpoint endpoint, long context) {
        events.add("completed " + context);
        ended.add(context);
    }

    @Override
    public void failed(FabricEndpoint endpoint, long context, FabricError error) {
        events.add("failed " + context + " " + error);
        ended.add(context);
    }

    @Override
    public void immediate(FabricEndpoint endpoint, int immediate) {
        events.add("immediate " + immediate);
    }

    @Override
    public void connected(FabricEndpoint endpoint, boolean accepted) {
        events.add("connected");
        connected.add(endpoint);
    }

    @Override
    public void disconnected(FabricEndpoint endpoint, String reason) {
        events.add("disconnected: " + reason);
        disconnected++;
    }
}
