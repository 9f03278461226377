package dev.lite.fabric.shm;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.os.SharedMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/** A node with its own memory and fabric, which records the calls of its handler. One thread, which holds the poll role. */
final class TestNode implements AutoCloseable, FabricHandler {
    static final long MEMORY_BYTES = 1 << 20;

    private static final double SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    private static final long AWAIT_NS = 1_000_000;

    final String name;
    final SharedMemory memory;
    final Fabric fabric;
    final List<FabricEndpoint> connected = new ArrayList<>();
    final List<FabricEndpoint> accepted = new ArrayList<>();
    final List<FabricEndpoint> disconnected = new ArrayList<>();
    final List<String> reasons = new ArrayList<>();
    final List<Integer> immediates = new ArrayList<>();
    /** Called with each immediate instead of recording it. */
    @Nullable
    IntConsumer onImmediate;

    /** Descriptions of all calls, in order. */
    final List<String> calls = new ArrayList<>();

    TestNode(Path parent, String name) {
        this(parent, name, Map.of());
    }

    TestNode(Path parent, String name, Map<String, String> options) {
        this.name = name;
        Path directory;
        try {
            directory = Files.createDirectories(parent.resolve(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        memory = SharedMemory.createMemfd("arena-" + name, MEMORY_BYTES);
        var hello = ("hello of " + name).getBytes(StandardCharsets.UTF_8);
        try {
            fabric = new ShmFabricProvider().open(new FabricConfig(name, hello, directory, options), this);
        } catch (RuntimeException e) {
            memory.close();
            throw e;
        }
        fabric.register(new FabricMemory(memory.segment(), memory.descriptor()));
    }

    long address() {
        return memory.address();
    }

    /** Connects, waits until both sides are connected, and returns this side. */
    FabricEndpoint connectTo(TestNode peer) {
        int before = peer.accepted.size();
        var endpoint = fabric.connect(peer.fabric.localAddress());
        until("connected", () -> connected.contains(endpoint) && peer.accepted.size() > before, this, peer);
        return endpoint;
    }

    /** Polls these nodes until the condition holds. */
    static void until(String what, BooleanSupplier condition, TestNode... nodes) {
        long deadline = System.nanoTime() + nanos(20);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("timed out waiting until: " + what);
            }
            int handed = 0;
            for (var node : nodes) {
                handed += node.fabric.poll(16);
            }
            if (handed == 0) {
                nodes[0].fabric.await(AWAIT_NS);
            }
        }
    }

    /** Of this process. */
    static long openDescriptors() throws IOException {
        try (var entries = Files.list(Path.of("/proc/self/fd"))) {
            return entries.count();
        }
    }

    static long nanos(double seconds) {
        return (long) (seconds * SCALE * 1e9);
    }

    @Override
    public void completed(FabricEndpoint endpoint, long context) {
        throw new AssertionError("posts of this driver complete when they return");
    }

    @Override
    public void failed(FabricEndpoint endpoint, long context, FabricError error) {
        throw new AssertionError("posts of this driver complete when they return");
    }

    @Override
    public void immediate(FabricEndpoint endpoint, int immediate) {
        var instead = onImmediate;
        if (instead != null) {
            instead.accept(immediate);
            return;
        }
        immediates.add(immediate);
        calls.add("immediate " + immediate);
    }

    @Override
    public void connected(FabricEndpoint endpoint, boolean byPeer) {
        (byPeer ? accepted : connected).add(endpoint);
        calls.add("connected");
    }

    @Override
    public void disconnected(FabricEndpoint endpoint, String reason) {
        disconnected.add(endpoint);
        reasons.add(reason);
        calls.add("disconnected");
    }

    @Override
    public void close() {
        fabric.close();
        memory.close();
    }
}
