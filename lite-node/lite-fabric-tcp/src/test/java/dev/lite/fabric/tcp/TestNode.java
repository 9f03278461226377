package dev.lite.fabric.tcp;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricIdentity;
import dev.lite.fabric.FabricMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** A node with its own memory and fabric, which records the calls of its handler. One thread, which holds the poll role. */
final class TestNode implements AutoCloseable, FabricHandler {
    static final long MEMORY_BYTES = 8 << 20;

    /** Used unless the options have another one. */
    static final String SECRET = "the secret of the test nodes";

    private static final double SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    private static final long AWAIT_NS = 1_000_000;

    final Arena arena = Arena.ofShared();
    final MemorySegment memory = arena.allocate(MEMORY_BYTES, 4096);
    final Fabric fabric;
    final List<FabricEndpoint> connected = new ArrayList<>();
    final List<FabricEndpoint> accepted = new ArrayList<>();
    final Map<FabricEndpoint, String> disconnected = new HashMap<>();
    final List<Integer> immediates = new ArrayList<>();
    final List<Long> completed = new ArrayList<>();
    final Map<Long, FabricError> failed = new HashMap<>();
    /** Calls of {@link #failed(FabricEndpoint, long, FabricError)}. */
    int failures;
    /** Called for each immediate. */
    Runnable onImmediate = () -> {};

    TestNode(String name, String... options) {
        this(name, null, options);
    }

    TestNode(String name, @Nullable SSLContext tls, String... options) {
        this(name, tls, null, options);
    }

    TestNode(String name, @Nullable SSLContext tls, @Nullable FabricIdentity identity, String... options) {
        Map<String, String> all = new HashMap<>(tls == null ? Map.of("secret", SECRET) : Map.of());
        for (int i = 0; i < options.length; i += 2) {
            all.put(options[i], options[i + 1]);
        }
        var hello = ("hello of " + name).getBytes(StandardCharsets.UTF_8);
        try {
            fabric = new TcpFabricProvider()
                    .open(
                            new FabricConfig(name, hello, Path.of("/"), all)
                                    .withTls(tls)
                                    .withIdentity(identity),
                            this);
        } catch (RuntimeException e) {
            arena.close();
            throw e;
        }
        fabric.register(new FabricMemory(memory, FabricMemory.NO_DESCRIPTOR));
    }

    long address() {
        return memory.address();
    }

    int port() {
        var address = fabric.localAddress();
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    /** Connects, waits until both sides are connected, and returns this side. */
    FabricEndpoint connectTo(TestNode peer) {
        int before = peer.accepted.size();
        var endpoint = fabric.connect(peer.fabric.localAddress());
        until("connected", () -> connected.contains(endpoint) && peer.accepted.size() > before, this, peer);
        return endpoint;
    }

    /** Connects, expects the refusal, and returns its reason. */
    String refusalBy(TestNode peer) {
        var endpoint = fabric.connect(peer.fabric.localAddress());
        until("refused", () -> disconnected.containsKey(endpoint), this, peer);
        return disconnected.getOrDefault(endpoint, "");
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

    static long nanos(double seconds) {
        return (long) (seconds * SCALE * 1e9);
    }

    @Override
    public void completed(FabricEndpoint endpoint, long context) {
        completed.add(context);
    }

    @Override
    public void failed(FabricEndpoint endpoint, long context, FabricError error) {
        failures++;
        failed.put(context, error);
    }

    @Override
    public void immediate(FabricEndpoint endpoint, int immediate) {
        immediates.add(immediate);
        onImmediate.run();
    }

    @Override
    public void connected(FabricEndpoint endpoint, boolean byPeer) {
        (byPeer ? accepted : connected).add(endpoint);
    }

    @Override
    public void disconnected(FabricEndpoint endpoint, String reason) {
        disconnected.put(endpoint, reason);
    }

    @Override
    public void close() {
        fabric.close();
        arena.close();
    }
}
